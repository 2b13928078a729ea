"""What is measured while the dispatcher runs, for metrics. Times are in seconds."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ROWS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


class Histogram:
    """How often a value was at most each of *bounds*, which rise; and the sum of all values."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def cumulated(self) -> Iterator[tuple[float, int]]:
        """Yield each bound, infinity last, with how many values were not above it."""
        total = 0
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            total += count
            yield bound, total


@dataclass(slots=True)
class Meters:
    """Raised by whoever sees it happen; nobody ever sets one back."""

    claim_seconds: Histogram = field(default_factory=lambda: Histogram(_SECONDS))
    """From asking for a claim to its answer."""
    claim_rows: Histogram = field(default_factory=lambda: Histogram(_ROWS))
    claims_failed: int = 0
    turn_seconds: Histogram = field(default_factory=lambda: Histogram(_SECONDS))
    """What one turn of the coordinator took: for that long nothing else was done."""
