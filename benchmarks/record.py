"""When messages were begun and done with, as the stages of the benchmarks write it down."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Moment:
    """When a message was begun and, where the stage says so, done, in nanoseconds of the clock of all processes."""

    begun: int
    done: int


@dataclass(slots=True)
class Record:
    """A file with a line for each message: its id, nanoseconds, and perhaps nanoseconds again.

    Read again it reads on where it stopped. A message that comes twice counts as it came first.
    """

    path: Path
    moments: dict[int, Moment] = field(default_factory=dict)
    _read: int = 0

    def read(self) -> dict[int, Moment]:
        """Return all that was written down so far."""
        if not self.path.exists():
            return self.moments
        with self.path.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            number, begun, *done = map(int, line.split())
            self.moments.setdefault(number, Moment(begun, done[0] if done else begun))
        return self.moments
