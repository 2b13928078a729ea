"""How many workers a stage may have while the database has no connection left for all of them.

A worker that finds no connection says so. Whichever stage runs the most workers then has to do with half of them, for
it is there that connections are to be had, whoever it was that went without. What is left over is fed no more, goes
cold and is let go. When nobody has complained for a while the limits are raised again, step by step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

WINDOW = 300.0
"""Seconds that a lowered limit holds after the last report."""
STEP = 30.0
"""Seconds between two steps on the way back, each of which doubles the limit."""
BURST = 1.0
"""Seconds in which reports are of one shortage: workers that go without at the same moment lower one limit, once."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """*stage* ran *workers* workers and may have no more than *limit* from now on."""

    stage: str
    workers: int
    limit: int


@dataclass(slots=True)
class Limit:
    """What one stage may have at most until *raised_at*, when it may have more."""

    workers: int
    raised_at: float


@dataclass(slots=True)
class Overload:
    """The lowered limits, by stage. Times are in seconds of one clock."""

    limits: dict[str, Limit] = field(default_factory=dict)
    lowered_at: float = float("-inf")

    def report(self, running: Mapping[str, int], now: float) -> Lowered | None:
        """A worker found no connection while so many workers are *running*, by stage.

        Return which limit that lowers, None if it is as low as it can be, or was lowered a moment ago. Every report
        makes all limits last longer: while one stage goes without, no other is to take more.
        """
        for limit in self.limits.values():
            limit.raised_at = now + WINDOW
        if now < self.lowered_at + BURST or not running:
            return None
        stage = max(running, key=lambda name: running[name])
        former = self.limits.get(stage)
        # Of what runs, too: half of a PARALLELISM that is not made use of would set no connection free.
        workers = running[stage] if former is None else min(running[stage], former.workers)
        lowest = max(1, workers // 2)
        if former is not None and former.workers <= lowest:
            return None
        self.lowered_at = now
        self.limits[stage] = Limit(lowest, now + WINDOW)
        return Lowered(stage, running[stage], lowest)

    def limit(self, stage: str, parallelism: int) -> int:
        """Return how many workers *stage* may have, of the *parallelism* that it is set to."""
        lowered = self.limits.get(stage)
        return parallelism if lowered is None else min(parallelism, lowered.workers)

    def ease(self, parallelism: Mapping[str, int], now: float) -> dict[str, int]:
        """Raise the limits whose time has come, and forget those that reach the stage's *parallelism*.

        Return the stages that may have more, and how many workers that is now.
        """
        eased = {}
        for stage, limit in list(self.limits.items()):
            most = parallelism.get(stage, 0)
            if now >= limit.raised_at:
                limit.workers, limit.raised_at = limit.workers * 2, now + STEP
                eased[stage] = min(most, limit.workers)
            if limit.workers >= most:
                del self.limits[stage]
        return eased

    def next_time(self) -> float:
        """Return when ``ease`` has something to do, infinity if never."""
        if not self.limits:
            return float("inf")
        return min((limit.raised_at for limit in self.limits.values()), default=float("inf"))
