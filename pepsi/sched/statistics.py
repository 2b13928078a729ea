"""What happened at each stage since the last flush."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class StageCounts:
    """Counts of one stage, to be added to what the database has. *microseconds* is time its workers spent.

    An answer that says no more than that the database was away is in none of them.
    """

    messages: int = 0
    failures: int = 0
    strikes: int = 0
    crashes: int = 0
    timeouts: int = 0
    requeues: int = 0
    microseconds: int = 0

    def plus(self, other: "StageCounts") -> "StageCounts":
        """Return the sum of the two."""
        return StageCounts(*(getattr(self, name) + getattr(other, name) for name in _NAMES))

    def minus(self, other: "StageCounts") -> "StageCounts":
        """Return what came on top of *other*."""
        return StageCounts(*(getattr(self, name) - getattr(other, name) for name in _NAMES))

    def __str__(self) -> str:
        """What there is of each, in words."""
        counts = [(name, getattr(self, name)) for name in _NAMES if name != "microseconds"]
        each = ", ".join(f"{count} {name}" for name, count in counts if count)
        return f"{each} in {self.microseconds / 1e6:.1f} s of work"


_NAMES = tuple(each.name for each in fields(StageCounts))


@dataclass(slots=True)
class MemoryCounts:
    """Counts of one stage since the start that the database never gets: it may be what they complain of."""

    io_errors: int = 0
    """Answers of 74: the worker had lost its database connection."""
    temporary_failures: int = 0
    """Answers of 75: the worker got no database connection."""
    workers_started: int = 0
    failed_starts: int = 0
    """Workers that were not started, or ended or were killed before they were ready."""


@dataclass(frozen=True, slots=True)
class Deltas:
    """What is to be added: by stage, and over all."""

    stages: Mapping[str, StageCounts]
    passes: int
    """Answers that moved a message, a fused chain counted once."""
    failed: int

    def plus(self, other: "Deltas") -> "Deltas":
        """Return the sum of the two."""
        names = [*self.stages, *(name for name in other.stages if name not in self.stages)]
        none = StageCounts()
        stages = {name: self.stages.get(name, none).plus(other.stages.get(name, none)) for name in names}
        return Deltas(stages, self.passes + other.passes, self.failed + other.failed)

    def minus(self, other: "Deltas") -> "Deltas":
        """Return what came on top of *other*."""
        stages = {name: counts.minus(other.stages.get(name, StageCounts())) for name, counts in self.stages.items()}
        stages = {name: counts for name, counts in stages.items() if counts != StageCounts()}
        return Deltas(stages, self.passes - other.passes, self.failed - other.failed)

    def __str__(self) -> str:
        """What the log says of it."""
        return f"{self.passes} passes, {self.failed} messages failed" + "".join(
            f"; {name}: {counts}" for name, counts in self.stages.items()
        )


@dataclass(slots=True)
class Statistics:
    """Gathers deltas in memory. A flush that may not have been written is repeated whole under its old number."""

    interval: float
    number: int
    """Of the last flush begun. The database ignores a number that it has seen."""
    flushed_at: float
    stages: dict[str, StageCounts] = field(default_factory=dict)
    passes: int = 0
    failed: int = 0
    unwritten: Deltas | None = None
    under_way: bool = False
    flushed: Deltas = field(default_factory=lambda: Deltas({}, 0, 0))
    """The sum of all flushes begun."""
    memory: dict[str, MemoryCounts] = field(default_factory=dict)
    wakes: dict[str, int] = field(default_factory=dict)
    """How often there was a reason to look for mail, by reason."""
    told: Deltas = field(default_factory=lambda: Deltas({}, 0, 0))
    """What of *flushed* the log has been told."""
    told_at: float = 0.0

    def at(self, stage: str) -> StageCounts:
        """Return the counts of *stage*, to be raised."""
        return self.stages.setdefault(stage, StageCounts())

    def remember(self, stage: str) -> MemoryCounts:
        """Return the counts of *stage* that are only kept in memory, to be raised."""
        return self.memory.setdefault(stage, MemoryCounts())

    @property
    def total(self) -> Deltas:
        """All since the start."""
        return self.flushed.plus(Deltas(self.stages, self.passes, self.failed))

    @property
    def dirty(self) -> bool:
        """Whether anything waits to be written."""
        return self.unwritten is not None or bool(self.stages) or self.passes > 0

    def due(self, *, idle: bool, last: bool = False) -> float | None:
        """Return when the next flush should begin, None when there is nothing to write or one is under way.

        *last*: nothing more will come, so that it need not wait, unless it has failed already.
        """
        if self.under_way or not self.dirty:
            return None
        if last and self.unwritten is None:
            return self.flushed_at
        return self.flushed_at + (min(1.0, self.interval) if idle else self.interval)

    def begin(self, now: float) -> Deltas:
        """Begin a flush at *now* and return what it carries; its number is ``self.number``."""
        if self.unwritten is None:
            self.unwritten = Deltas(self.stages, self.passes, self.failed)
            self.flushed = self.flushed.plus(self.unwritten)
            self.stages, self.passes, self.failed = {}, 0, 0
            self.number += 1
        self.under_way = True
        self.flushed_at = now
        return self.unwritten

    def untold(self, now: float, *, last: bool = False) -> tuple[float, Deltas] | None:
        """Return what was counted since the log was told last, and since how many seconds that is.

        None if that was less than an interval ago, unless nothing more will come; and None if it is nothing.
        """
        seconds, news = now - self.told_at, self.flushed.minus(self.told)
        if not (news.stages or news.passes) or not (last or seconds >= self.interval):
            return None
        self.told, self.told_at = self.flushed, now
        return seconds, news

    def end(self, *, written: bool) -> None:
        """The flush under way came back."""
        self.under_way = False
        if written:
            self.unwritten = None
