"""How evenly worker time is shared among those who wait: Jain's index, window by window."""

from collections.abc import Iterable

from pepsi.simulate.table import Table

TURNS = 5
"""With fewer messages in a window for each sender who waits, the index says more of chance than of the dispatcher."""


def jain(shares: Iterable[float]) -> float:
    """Return Jain's index of *shares*: 1 when all are equal, 1/n when one of n has all. 1 if nobody has anything."""
    values = list(shares)
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


class Windows:
    """Worker time by stage and sender in the present window, and the indices of those that are over.

    A window counts only those senders who had something waiting at the stage all the time: who has nothing to send gets
    nothing, and nobody is unfair to him. It counts at all if there are two of them, and if so many messages were worked
    on that each could have had its turn a few times.
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.worst = 1.0
        self.widest = 0
        """The most senders who waited all through one window."""
        self._messages: dict[str, int] = {}
        self._used: dict[tuple[str, str], float] = {}
        self._waited: dict[str, frozenset[str]] = {}

    @property
    def mean(self) -> float:
        """The mean of the indices of all windows; 1 if there were none."""
        return self.total / self.count if self.count else 1.0

    def served(self, stage: str, sender: str, seconds: float) -> None:
        """A worker has spent *seconds* on a message of *sender*."""
        self._messages[stage] = self._messages.get(stage, 0) + 1
        key = stage, sender
        self._used[key] = self._used.get(key, 0.0) + seconds

    def close(self, table: Table, stages: Iterable[str]) -> None:
        """The window is over, and the next begins."""
        for stage in stages:
            waiting = table.waiting(stage)
            now = frozenset(waiting)
            all_along = (now & self._waited.get(stage, frozenset())) - waiting.emptied
            waiting.emptied.clear()
            self._waited[stage] = now
            if len(all_along) > 1 and self._messages.get(stage, 0) >= TURNS * len(all_along):
                index = jain(self._used.get((stage, sender), 0.0) for sender in all_along)
                self.count += 1
                self.total += index
                self.worst = min(self.worst, index)
                self.widest = max(self.widest, len(all_along))
        self._used.clear()
        self._messages.clear()
