"""The ids that were claimed in a row, seen from a little behind."""

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Trail:
    """Remembers how far claims had got at least *lag* seconds ago, and at most three times that."""

    lag: float
    newest: int = 0
    rows: int = 0
    """How many ids were noted."""
    _begun: float = float("-inf")
    _former: int = 0
    """The newest id when the period began that runs now."""
    _end: int = 0

    def note(self, number: int, now: float) -> None:
        """*number* was claimed."""
        self._roll(now)
        self.newest = max(self.newest, number)
        self.rows += 1

    def end(self, now: float) -> int:
        """Return the largest id that was noted *lag* seconds ago or longer, 0 if there is none."""
        self._roll(now)
        return self._end

    def _roll(self, now: float) -> None:
        if now < self._begun + self.lag:
            return
        self._end = self.newest if now >= self._begun + 2 * self.lag else self._former
        self._former, self._begun = self.newest, now
