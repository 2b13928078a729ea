"""The statements by which the dispatcher claims rows and writes what it decided about them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pepsi.db import array
from pepsi.db.statement import Statement, named
from pepsi.sched.commands import Claim, Settlement
from pepsi.sched.events import Claimed, ClaimedRow, RunningRow, Window

Row = tuple[Any, ...]


def claim(command: Claim) -> Statement:
    """Claim rows as *command* says."""
    wants = command.wants
    asked = {
        "claim": command.token,
        "stages": [want.stage for want in wants],
        "capacities": [want.capacity for want in wants],
        "floors": [want.floor for want in wants],
    }
    if not command.fair:
        return named("claim_oldest", **asked)
    # The order of code points is that of their bytes in UTF-8, which the database goes by.
    senders = [
        (number, sender)
        for number, want in enumerate(wants, 1)
        for sender in sorted(want.senders, key=lambda sender: sender.key)
    ]
    return named(
        "claim_fair",
        **asked,
        fifo=[want.fifo for want in wants],
        averages=[want.average for want in wants],
        afters=[want.after for want in wants],
        sender_stages=array.numbers(number for number, _ in senders),
        sender_keys=array.texts(sender.key for _, sender in senders),
        leads=array.numbers(sender.lead for _, sender in senders),
        sender_floors=array.numbers(sender.floor for _, sender in senders),
    )


def claimed(command: Claim, rows: Iterable[Row]) -> Claimed:
    """Read what the claim that *command* asked for returned."""
    taken, windows = [], []
    for workqueue_id, stage, sender, strikes, interrupted, *window in rows:
        if workqueue_id is None:
            last, complete, lowest = window
            windows.append(Window(stage=stage, last=last, complete=complete, lowest=lowest))
        else:
            taken.append(
                ClaimedRow(
                    workqueue_id=workqueue_id, stage=stage, sender=sender, strikes=strikes, interrupted=interrupted
                )
            )
    return Claimed(token=command.token, rows=tuple(taken), windows=tuple(windows))


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
