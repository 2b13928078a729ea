"""How much worker time each sender of a stage has had beyond the others, for a while remembered."""

from bisect import bisect_left, insort
from dataclasses import dataclass
from math import exp2

MOST = 20_000
"""Leads that a stage remembers at most."""
RESCALE = 30.0
"""Half-lives after which all leads are written anew, so that the scale stays within what a float holds exactly."""
FEWEST_CHARGES = 64
"""Charges at least between two looks for leads that can be forgotten."""


@dataclass(slots=True, eq=False)
class _Entry:
    value: float
    """In the scale of the book."""
    touched: float
    open: int = 0
    """Charges that are neither corrected nor refunded yet."""
    ranked: float | None = None
    """The value under which it stands in the order, if it does."""


class Leads:
    """The leads of one stage's senders, in seconds, halved each *half_life*.

    Nothing is done to all of them when time passes or when all are lowered: what is kept is the lead times a scale that
    grows with time, above a ground that rises.
    """

    def __init__(self, half_life: float, now: float) -> None:
        self._half_life = half_life
        self._began = now
        self._ground = 0.0
        self._entries: dict[str, _Entry] = {}
        self._order: list[tuple[float, str]] = []
        self._charges = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def open(self) -> int:
        """How many charges are open."""
        return sum(entry.open for entry in self._entries.values())

    def lead(self, sender: str, now: float) -> float:
        """Return the lead of *sender* in seconds, 0 if it has none."""
        entry = self._entries.get(sender)
        return 0.0 if entry is None else max(0.0, entry.value - self._ground) * self._scale(2 * self._began - now)

    def charge(self, sender: str, seconds: float, average: float, now: float) -> None:
        """Charge *sender* for a message that is claimed. It must be corrected or refunded later.

        Now and then what has become too small is forgotten: all less than *average* of senders that were quiet for a
        half-life. To forget them at once would let one sender have turn after turn while the others wait.
        """
        self._rescale_if_due(now)
        self._charges += 1
        if self._charges > max(FEWEST_CHARGES, len(self._entries) // 2):
            self._forget(average, now)
        entry = self._entries.get(sender)
        if entry is None:
            entry = self._entries[sender] = _Entry(self._ground, now)
        entry.open += 1
        self._set(sender, entry, entry.value + seconds * self._scale(now), now)

    def correct(self, sender: str, charged: float, at: float, measured: float, now: float) -> None:
        """Put *measured* seconds in the place of what is left of *charged*, charged at the time *at*.

        The lead may fall below zero by that while other charges of the sender are open: they lift it again. What it
        was overcharged would be lost otherwise, and the cheaper senders would pay for the expensive ones.
        """
        self._rescale_if_due(now)
        entry = self._entries[sender]
        entry.open -= 1
        value = entry.value + measured * self._scale(now) - charged * self._scale(at)
        self._set(sender, entry, value if entry.open else max(self._ground, value), now)

    def refund(self, sender: str, charged: float, at: float, now: float) -> None:
        """Take back what is left of *charged*, charged at the time *at*: the message was not run."""
        entry = self._entries[sender]
        entry.open -= 1
        least = min(self._ground, entry.value) if entry.open else self._ground
        self._set(sender, entry, max(least, entry.value - charged * self._scale(at)), now)

    def level(self, seconds: float, at: float) -> None:
        """Lower every lead by *seconds*, the smallest lead that a waiting sender had at the time *at*."""
        self._ground += max(0.0, seconds) * self._scale(at)

    def top(self, limit: int, now: float) -> list[tuple[str, float]]:
        """Return at most *limit* senders with their leads in seconds, the largest first."""
        self._rescale_if_due(now)
        scale, first = self._scale(now), max(0, len(self._order) - limit)
        found = []
        for value, sender in reversed(self._order[first:]):
            if value <= self._ground:
                break
            found.append((sender, (value - self._ground) / scale))
        return found

    def _scale(self, now: float) -> float:
        return exp2((now - self._began) / self._half_life)

    def _set(self, sender: str, entry: _Entry, value: float, now: float) -> None:
        entry.value, entry.touched = value, now
        if entry.ranked is not None:
            del self._order[bisect_left(self._order, (entry.ranked, sender))]
            entry.ranked = None
        if value > self._ground:
            insort(self._order, (value, sender))
            entry.ranked = value
        elif not entry.open:
            del self._entries[sender]

    def _forget(self, average: float, now: float) -> None:
        self._charges = 0
        least, quiet = self._ground + average * self._scale(now), now - self._half_life
        idle = [(entry.value, sender) for sender, entry in self._entries.items() if not entry.open]
        small = [
            sender for value, sender in idle
            if value <= self._ground or (value < least and self._entries[sender].touched <= quiet)
        ]  # fmt: skip
        for sender in small:
            del self._entries[sender]
        if len(self._entries) > MOST:
            for _, sender in sorted((value, sender) for value, sender in idle if sender in self._entries)[:-MOST]:
                del self._entries[sender]
        self._put_in_order()

    def _rescale_if_due(self, now: float) -> None:
        if now - self._began <= RESCALE * self._half_life:
            return
        # After a quiet weekend this is a power of minus thousands, which is 0; its inverse would be an error.
        factor = exp2((self._began - now) / self._half_life)
        for entry in self._entries.values():
            entry.value = (entry.value - self._ground) * factor
        self._ground, self._began = 0.0, now
        self._put_in_order()

    def _put_in_order(self) -> None:
        for entry in self._entries.values():
            entry.ranked = entry.value if entry.value > self._ground else None
        self._order = sorted(
            (entry.ranked, sender) for sender, entry in self._entries.items() if entry.ranked is not None
        )
