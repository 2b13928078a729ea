"""When bodies that no row refers to any more are swept up."""

from dataclasses import dataclass

SWEEP_LIMIT = 10_000
"""Bodies that one sweep deletes at most."""


@dataclass(slots=True)
class Sweeping:
    """A sweep walks an index of the whole queue, so there is one an *interval* at most (seconds), and none for nothing.

    Two transactions that delete the last two rows of a body at once leave it behind: only where rows have ended is
    there anything to sweep.
    """

    interval: float
    swept_at: float
    ended: bool = False
    """Whether rows may have ended since the last sweep began, or that one left something behind."""
    under_way: bool = False

    def due(self, now: float) -> bool:
        """Whether it is time for a sweep."""
        return self.ended and not self.under_way and now >= self.swept_at + self.interval

    def begin(self, now: float) -> None:
        """A sweep goes out."""
        self.ended, self.under_way, self.swept_at = False, True, now

    def end(self, *, more: bool) -> None:
        """It came back; with *more* it was not done, or did not get to the end."""
        self.under_way = False
        self.ended = self.ended or more
