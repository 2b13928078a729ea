"""What happened at each stage since the last flush."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class StageCounts:
    """Counts of one stage, to be added to what the database has. *microseconds* is time its workers spent."""

    messages: int = 0
    failures: int = 0
    strikes: int = 0
    crashes: int = 0
    timeouts: int = 0
    requeues: int = 0
    microseconds: int = 0


@dataclass(frozen=True, slots=True)
class Deltas:
    """What is to be added: by stage, and over all."""

    stages: Mapping[str, StageCounts]
    passes: int
    """Answers that moved a message, a fused chain counted once."""
    failed: int


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

    def at(self, stage: str) -> StageCounts:
        """Return the counts of *stage*, to be raised."""
        return self.stages.setdefault(stage, StageCounts())

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
            self.stages, self.passes, self.failed = {}, 0, 0
            self.number += 1
        self.under_way = True
        self.flushed_at = now
        return self.unwritten

    def end(self, *, written: bool) -> None:
        """The flush under way came back."""
        self.under_way = False
        if written:
            self.unwritten = None
