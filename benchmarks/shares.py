"""How the workers' time is shared among senders. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WINDOW = 10.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Work:
    """One message: the number of its sender, and when it was begun and done, in seconds."""

    sender: int
    begun: float
    done: float


def shares(work: Sequence[Work], senders: int, windows: int) -> list[list[float]]:
    """Return the seconds that each sender used in each of so many windows from the first beginning on."""
    start = min(each.begun for each in work)
    return [_used(work, senders, start + number * WINDOW, start + (number + 1) * WINDOW) for number in range(windows)]


def _used(work: Iterable[Work], senders: int, start: float, end: float) -> list[float]:
    used = [0.0] * senders
    for each in work:
        used[each.sender] += max(0.0, min(each.done, end) - max(each.begun, start))
    return used
