"""The fair order among rows that wait, as ``pepsi.workqueue_claim_fair`` has it: its twin in plain Python. Pure.

The database takes the same rows in the same order; a test compares them.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import dropwhile, islice

from pepsi.sched.commands import Want
from pepsi.sched.events import Window
from pepsi.sched.waiting import Waiting

NARROWEST, WIDEST = 16, 64
"""The fewest and the most senders that a claim looks at for a stage."""
IDLE = 64
"""Senders with a floor of their own that turn out to have nothing waiting, after which the window ends all the same."""

Heads = dict[str, tuple[int, Iterator[int]]]
"""By sender: the oldest row that may be taken, and those after it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The ids to claim for one stage, in the order in which they are to be handed out, and the window looked at."""

    ids: tuple[int, ...]
    window: Window


def width(capacity: int) -> int:
    """Return at how many waiting senders a claim of *capacity* rows looks."""
    return max(NARROWEST, min(WIDEST, 2 * capacity))


def choose(want: Want, rows: Iterable[tuple[int, str]]) -> Choice:
    """As ``pick``, among *rows*: the id and the sender of all that wait at the stage of *want*."""
    waiting = Waiting()
    for number, sender in rows:
        waiting.add(number, sender)
    return pick(want, waiting)


def pick(want: Want, waiting: Waiting) -> Choice:
    """Choose among the rows that are *waiting* at the stage of *want*.

    The first are the oldest ones, as many as ``want.fifo``. The others come by rank: a sender's k-th oldest row, those
    that were just taken among them, ranks by the sender's lead and k times the average, equal ones by id. Only senders
    of the window can have these.
    """
    fifo = min(want.fifo, want.capacity)
    first = tuple(islice(_from(want.floor, waiting.oldest()), fifo)) if fifo > 0 else ()
    leads = {sender.key: sender.lead for sender in want.senders}
    floors = {sender.key: sender.floor for sender in want.senders if sender.floor > want.floor}
    heads, last, complete = _window(want, waiting, floors)
    lowest = min([leads.get(sender, 0.0) for sender in heads], default=0.0)
    rest = _ranked(want, heads, leads, frozenset(first))
    return Choice((*first, *rest), Window(stage=want.stage, last=last, complete=complete, lowest=lowest))


def _ranked(want: Want, heads: Heads, leads: Mapping[str, float], taken: frozenset[int]) -> list[int]:
    """Return the ids of smallest rank that are not *taken*, as many as there is room for."""
    turns: list[tuple[float, int, int, float, Iterator[int]]] = []
    for sender, (head, line) in heads.items():
        place, lead = 0, leads.get(sender, 0.0)
        number: int | None = head
        while number in taken:
            place, number = place + 1, next(line, None)
        if number is not None:
            turns.append((lead + place * want.average, number, place, lead, line))
    heapq.heapify(turns)
    chosen: list[int] = []
    while turns and len(chosen) < want.capacity - len(taken):
        _, number, place, lead, line = turns[0]
        chosen.append(number)
        following = next(line, None)
        while following in taken:
            place, following = place + 1, next(line, None)
        if following is None:
            heapq.heappop(turns)
        else:
            rank = lead + (place + 1) * want.average
            heapq.heapreplace(turns, (rank, following, place + 1, lead, line))
    return chosen


def _from(floor: int, ids: Iterator[int]) -> Iterator[int]:
    return dropwhile(lambda number: number < floor, ids) if floor else ids


def _window(want: Want, waiting: Waiting, floors: Mapping[str, int]) -> tuple[Heads, str, bool]:
    """Return what the senders looked at have from their floors on; the last of these; whether these are all.

    Looked at, too, are those who are known by a floor of their own and turn out to have nothing waiting.
    """
    most = width(want.capacity)
    heads: Heads = {}
    last = ""
    idle = 0
    for key in _keys(want.after, waiting, floors):
        line = _from(max(want.floor, floors.get(key, 0)), waiting.line(key))
        head = next(line, None)
        if head is not None:
            if len(heads) == most:
                return heads, last, False
            heads[key] = head, line
        elif key in floors:
            if idle == IDLE:
                return heads, last, False
            idle += 1
        else:
            continue
        last = key
    return heads, last, True


def _keys(after: str, waiting: Waiting, floors: Mapping[str, int]) -> Iterator[str]:
    """Yield those who wait and those with floors, past *after* first. Code points sort as their bytes in UTF-8 do."""
    others = [key for key in floors if key not in waiting]
    if not others:
        return waiting.past(after)
    return heapq.merge(
        waiting.past(after),
        sorted(others, key=lambda key: (key <= after, key)),
        key=lambda key: (key <= after, key),
    )
