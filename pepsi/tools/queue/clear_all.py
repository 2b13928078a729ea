"""``pepsi-queue clear-all``: nothing is running or paused any more."""

import argparse
from collections import Counter
from dataclasses import dataclass, field

from pepsi.db import leadership, queue
from pepsi.model.row import RowStatus
from pepsi.tools.desk.command import Command, Desk, QueueError, counted, declare_report, report

AT_ONCE = 200_000
"""Ids that are remembered at a time."""
BATCH = 1000
"""Messages that one transaction changes: a few hundredths of a second, in which it can be in somebody's way."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--paused", action="store_true", help="only paused messages; a dispatcher may be at work")
    parser.add_argument("--force", action="store_true", help="even while a dispatcher is at work")
    declare_report(parser)


async def run(desk: Desk, arguments: argparse.Namespace) -> None:
    """Let every message that is running or paused be pending. Raises QueueError while a dispatcher is at work.

    The dispatcher's lock is held until the connection is closed, so that none begins in the middle (I1).
    """
    if not arguments.paused and not arguments.force:
        await _take_lock(desk)
    cleared = _Cleared()
    statuses = [RowStatus.PAUSED] if arguments.paused else [RowStatus.RUNNING, RowStatus.PAUSED]
    try:
        for status in statuses:
            await _clear(desk, status, cleared)
    except BaseException:
        desk.warn(f"not all is done: {cleared} before something came in between; run it again for the rest")
        raise
    facts = {str(status): cleared.released[status] for status in statuses}
    report(desk, arguments, str(cleared), **facts, parked=cleared.parked, locked=cleared.locked)
    if cleared.locked:
        desk.warn(f"{counted(cleared.locked, 'message')} left alone, since somebody else is changing them right now")


@dataclass(slots=True)
class _Cleared:
    """How many messages were released, by the status that they had, how many were parked, and how many locked."""

    released: Counter[RowStatus] = field(default_factory=Counter)
    parked: int = 0
    locked: int = 0

    def __str__(self) -> str:
        parts = [f"{number} {status}" for status, number in self.released.items()] or ["no"]
        many = "message" if [*self.released.values()][-1:] == [1] else "messages"
        return f"released {' and '.join(parts)} {many}" + (f", {self.parked} of them parked" if self.parked else "")


async def _clear(desk: Desk, status: RowStatus, cleared: _Cleared) -> None:
    cleared.released[status] = last = 0
    while True:
        ((ids,),) = await desk.ask(queue.ids_of(status, after=last, limit=AT_ONCE))
        if not ids:
            return
        last = ids[-1]
        for start in range(0, len(ids), BATCH):
            (row,) = await desk.ask(queue.release(status, ids[start : start + BATCH]))
            released, parked, locked, *_ = row
            cleared.released[status] += released
            cleared.parked += parked
            cleared.locked += locked
            desk.progress(f"{cleared.released[status]} {status} messages released")


async def _take_lock(desk: Desk) -> None:
    if await desk.ask(leadership.try_lock()) == [(True,)]:
        return
    holder = leadership.holder_of(await desk.ask(leadership.lock_holder()))
    raise QueueError(
        f"a dispatcher is at work on this database: the lock is {holder}; stop it first, or say --paused for paused "
        "messages only, or --force if you know that no worker has any of the others"
    )


COMMAND = Command("clear-all", "let every running or paused message be pending", declare, run)
