"""The fair order among rows that wait, as ``pepsi.workqueue_claim_fair`` has it: its twin in plain Python. Pure.

The database takes the same rows in the same order; a test compares them.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pepsi.sched.commands import Want
from pepsi.sched.events import Window

NARROWEST, WIDEST = 16, 64
"""The fewest and the most senders that a claim looks at for a stage."""
IDLE = 64
"""Senders with a floor of their own that turn out to have nothing waiting, after which the window ends all the same."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The ids to claim for one stage, in the order in which they are to be handed out, and the window looked at."""

    ids: tuple[int, ...]
    window: Window


def width(capacity: int) -> int:
    """Return at how many waiting senders a claim of *capacity* rows looks."""
    return max(NARROWEST, min(WIDEST, 2 * capacity))


def choose(want: Want, rows: Iterable[tuple[int, str]]) -> Choice:
    """Choose among *rows*, the id and the sender of all that wait at the stage of *want*.

    The first are the oldest ones, as many as ``want.fifo``. The others come by rank: a sender's k-th oldest row, those
    that were just taken among them, ranks by the sender's lead and k times the average, equal ones by id. Only senders
    of the window can have these.
    """
    waiting = sorted(row for row in rows if row[0] >= want.floor)
    lines = _lines(want, waiting)
    senders, complete = _window(want, lines)
    first = [number for number, _ in waiting[: max(0, min(want.fifo, want.capacity))]]
    leads = {sender.key: sender.lead for sender in want.senders}
    taken = set(first)
    ranked = (
        (leads.get(sender, 0.0) + place * want.average, number)
        for sender in senders
        for place, number in enumerate(islice(lines.get(sender, ()), want.capacity))
        if number not in taken
    )
    rest = heapq.nsmallest(want.capacity - len(first), ranked)
    found = [leads.get(sender, 0.0) for sender in senders if sender in lines]
    window = Window(
        stage=want.stage,
        last=senders[-1] if senders else "",
        complete=complete,
        lowest=min(found, default=0.0),
    )
    return Choice((*first, *(number for _, number in rest)), window)


def _lines(want: Want, waiting: Iterable[tuple[int, str]]) -> Mapping[str, Sequence[int]]:
    """Return the ids of each sender's rows from its floor on, oldest first."""
    floors = {sender.key: sender.floor for sender in want.senders}
    lines: dict[str, list[int]] = {}
    for number, sender in waiting:
        if number >= floors.get(sender, 0):
            lines.setdefault(sender, []).append(number)
    return lines


def _window(want: Want, lines: Mapping[str, Sequence[int]]) -> tuple[list[str], bool]:
    """Return the senders looked at, in order, and whether these are all that wait."""
    known = {sender.key for sender in want.senders if sender.floor > want.floor}
    # The order of code points is that of their bytes in UTF-8.
    keys = sorted(known | lines.keys())
    looked: list[str] = []
    found = idle = 0
    for key in [key for key in keys if key > want.after] + [key for key in keys if key <= want.after]:
        if key in lines:
            if found == width(want.capacity):
                return looked, False
            found += 1
        else:
            if idle == IDLE:
                return looked, False
            idle += 1
        looked.append(key)
    return looked, True
