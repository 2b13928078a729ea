"""The statements by which the dispatcher claims rows and writes what it decided about them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pepsi.db.statement import Statement, named
from pepsi.sched.commands import Claim, Settlement
from pepsi.sched.events import ClaimedRow, RunningRow

Row = tuple[Any, ...]


def claim(command: Claim) -> Statement:
    """Claim rows as *command* says."""
    return named(
        "claim_oldest",
        stages=[want.stage for want in command.wants],
        capacities=[want.capacity for want in command.wants],
        claim=command.token,
    )


def claimed(rows: Iterable[Row]) -> tuple[ClaimedRow, ...]:
    """Read what a claim returned."""
    return tuple(ClaimedRow(workqueue_id=row[0], stage=row[1], strikes=row[2]) for row in rows)


def settle(settlements: Sequence[Settlement]) -> Statement:
    """Write *settlements*, each if its row still runs under its claim.

    Returns the ids of rows that still do, but are locked by somebody else: these are not written.
    """
    items = [
        {
            "workqueue_id": write.workqueue_id,
            "claim": write.claim,
            "status": write.status.value,
            "delay": write.delay,
            "patch": dict(write.patch),
        }
        for write in settlements
    ]
    return named("settle", ids=[write.workqueue_id for write in settlements], items=json.dumps(items))


def next_due() -> Statement:
    """Ask in how many seconds the next paused row is due: one row, or none."""
    return named("next_due")


def flip_due(limit: int) -> Statement:
    """Turn at most *limit* due rows to pending; returns their ids."""
    return named("flip_due", limit=limit)


def running_rows() -> Statement:
    """Ask which rows are running."""
    return named("running_rows")


def running(rows: Iterable[Row]) -> tuple[RunningRow, ...]:
    """Read what ``running_rows`` returned."""
    return tuple(RunningRow(workqueue_id=row[0], claim=row[1], stage=row[2], strikes=row[3]) for row in rows)


def unknown_stages(stages: Iterable[str]) -> Statement:
    """Ask how many rows wait at each stage that is not one of *stages*."""
    return named("unknown_stages", stages=list(stages))
