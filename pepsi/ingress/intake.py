"""One message on its way in, and the memory it takes. Pure."""

from pepsi.ingress.budget import Budget
from pepsi.ingress.dataphase import DataPhase, Flaw


class Intake:
    """Reads a message of at most *limit* bytes, and keeps no byte of it that *budget* does not have room for."""

    def __init__(self, budget: Budget, limit: int) -> None:
        self._budget = budget
        self._taken = 0
        self.phase = DataPhase(limit)

    def feed(self, data: bytes) -> bytes | None:
        """Take *data*. Returns what follows the end of the message, or None while there is no end."""
        rest = self.phase.feed(data)
        grown = self.phase.kept - self._taken
        if grown > 0 and self._budget.take(grown):
            self._taken += grown
        elif grown > 0:
            self.phase.spoil(Flaw.MEMORY)
        if self.phase.kept < self._taken:
            self.release()
        return rest

    def release(self) -> None:
        """Give all memory back: the message is kept elsewhere, or lost. Harmless when repeated."""
        taken, self._taken = self._taken, 0
        self._budget.give(taken)
