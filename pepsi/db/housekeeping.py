"""The question who keeps dead rows from being cleared away."""

from collections.abc import Sequence
from typing import Any

from pepsi.db.statement import Statement, named
from pepsi.sched.lookout import Holder, Sight


def oldest_snapshot() -> Statement:
    """Ask for the dead rows of the queue and for the holder of the oldest snapshot; one row, read by ``sight``."""
    return named("oldest_snapshot")


def sight(row: Sequence[Any]) -> Sight:
    """Read what ``oldest_snapshot`` returned."""
    dead, live, kind, name, application, owner, seconds, transactions = row
    holder = None
    if kind is not None:
        holder = Holder(
            kind=kind,
            name=name,
            application=application or "",
            owner=owner or "",
            seconds=seconds,
            transactions=transactions,
        )
    return Sight(dead=dead, live=live, holder=holder)
