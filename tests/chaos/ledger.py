"""What was done to the system and when, and what is to be undone."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.chaos.faults import Fault, Kind


@dataclass(slots=True)
class _Pending:
    due: float
    undo: Callable[[], None]


@dataclass(slots=True)
class Ledger:
    """The faults so far, and the chance that deals them."""

    chance: random.Random
    faults: list[Fault] = field(default_factory=list)
    _pending: list[_Pending] = field(default_factory=list)

    def note(self, kind: Kind, pid: int | None = None, sessions: str = "", lasts: bool = False) -> Callable[[], None]:
        """Write a fault down. Returns what to call when one that *lasts* is over.

        To be called before it is done, so that nothing can come of it earlier than that.
        """
        place = len(self.faults)
        now = time.monotonic()
        self.faults.append(Fault(kind, now, float("inf") if lasts else now, pid, sessions))

        def over() -> None:
            self.faults[place] = replace(self.faults[place], end=time.monotonic())

        return over

    def later(self, seconds: float, undo: Callable[[], None]) -> None:
        """Let *undo* be called in so many seconds."""
        self._pending.append(_Pending(time.monotonic() + seconds, undo))

    def moment(self, longest: float) -> float:
        """Return how long something lasts: mostly short, up to *longest* seconds."""
        return min(longest, 0.2 + self.chance.expovariate(4 / longest))

    def tend(self) -> None:
        """Undo what is due. To be called all the time."""
        now = time.monotonic()
        for pending in [pending for pending in self._pending if pending.due <= now]:
            self._pending.remove(pending)
            pending.undo()

    def end(self) -> None:
        """Undo everything at once. What cannot be undone yet is left to ``tend``."""
        pending, self._pending = self._pending, []
        for one in pending:
            one.undo()
