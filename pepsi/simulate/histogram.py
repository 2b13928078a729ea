"""Times in a fixed number of buckets, so that a million of them take as little room as ten."""

import math

BUCKETS_PER_OCTAVE = 16
"""A bucket is 4.4 % wide: no quantile is further off."""
LEAST = 1e-6
"""Seconds; whatever is shorter counts as no time at all."""
OCTAVES = 44
"""Up to 200 days; what is longer shares the last bucket."""

_LAST = OCTAVES * BUCKETS_PER_OCTAVE


class Histogram:
    """Seconds, counted in buckets of a logarithmic scale. The largest is known exactly, and so is their sum."""

    __slots__ = ("_counts", "count", "largest", "total")

    def __init__(self) -> None:
        self._counts = [0] * (_LAST + 1)
        self.count = 0
        self.largest = 0.0
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one time of *seconds*."""
        self.count += 1
        self.total += seconds
        if seconds > self.largest:
            self.largest = seconds
        if seconds <= LEAST:
            self._counts[0] += 1
        else:
            bucket = int(math.log2(seconds / LEAST) * BUCKETS_PER_OCTAVE) + 1
            self._counts[bucket if bucket < _LAST else _LAST] += 1

    def quantile(self, share: float) -> float:
        """Return the seconds that *share* (0 to 1) of all times do not exceed; 0 if there are none."""
        wanted = math.ceil(share * self.count)
        if wanted >= self.count:
            return self.largest
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if seen >= wanted and seen:
                return min(self.largest, LEAST * 2 ** (bucket / BUCKETS_PER_OCTAVE) if bucket else 0.0)
        return self.largest
