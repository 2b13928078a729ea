"""The steps that messages take through the queue, as the demo's private database writes them down."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pepsi.db.statement import Statement, named
from pepsi.model.row import RowStatus


@dataclass(frozen=True, slots=True)
class Step:
    """A message came to *stage*, or to another status there, *at* so many seconds. Without a status it is gone."""

    workqueue_id: int
    stage: str
    status: RowStatus | None
    at: float


def keep() -> Statement:
    """Return what begins a new trail. The schema must be installed."""
    return named("demo_keep_trail")


def read() -> Statement:
    """Return what reads the trail; its rows are for ``steps``."""
    return named("demo_trail")


def steps(rows: Iterable[tuple[Any, ...]]) -> tuple[Step, ...]:
    """Return the steps that *rows* hold, in order."""
    return tuple(
        Step(number, stage or "", None if status is None else RowStatus(status), at)
        for number, stage, status, at in rows
    )
