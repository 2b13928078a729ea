"""What workers write down of each message, in one file for all: an event a line, each by one write.

A lock on one byte for each message tells more than times can: the kernel gives it back when its holder dies, and not
before. A worker that finds it taken has caught another one that lives and is at the same message.
"""

import enum
import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path

_TAIL = 1 << 14
"""Bytes of the record that are read to see who is at work: some hundred events."""


class Event(enum.Enum):
    """What was written down."""

    BEGIN = "begin"  # the message is loaded; the word is its key
    CLASH = "clash"  # another live worker is at it
    ACT = "act"  # what cannot be undone was done
    END = "end"  # the worker is done with it; the word is an Outcome


class Outcome(enum.Enum):
    """How a worker ended a message."""

    DONE = "done"  # the outcome is committed, on the disk
    DECIDED = "decided"  # the outcome is in the hands of the runtime, which commits it next
    LOST = "lost"  # the connection broke at the commit: nobody knows
    GONE = "gone"  # the row was no longer this worker's
    WAITS = "waits"  # put off by design, nothing was done
    FAILED = "failed"  # refused by design, nothing was done
    CRASHES = "crashes"  # the worker is about to kill itself, by design


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the record. *at* is of the monotonic clock, which all processes share."""

    event: Event
    message: int
    stage: str
    pid: int
    epoch: int
    at: float
    word: str = ""


class Recorder:
    """Writes the record in *directory* for one worker."""

    def __init__(self, directory: Path, stage: str, epoch: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._record = os.open(directory / "record", flags | os.O_APPEND, 0o600)
        self._locks = os.open(directory / "locks", flags, 0o600)
        self._stage = stage
        self._epoch = epoch

    def begin(self, message: int, key: int) -> None:
        """The message is loaded, and its work begins."""
        try:
            fcntl.lockf(self._locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, message)
        except OSError:
            self._write(Event.CLASH, message)
        self._write(Event.BEGIN, message, str(key))

    def act(self, message: int) -> None:
        """Now is done what cannot be undone."""
        self._write(Event.ACT, message)

    def end(self, message: int, outcome: Outcome) -> None:
        """The worker is through with the message."""
        self._write(Event.END, message, outcome.value)
        fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, message)

    def _write(self, event: Event, message: int, word: str = "-") -> None:
        line = f"{event.value} {message} {self._stage} {os.getpid()} {self._epoch} {time.monotonic():.6f} {word}\n"
        os.write(self._record, line.encode())


def read(path: Path) -> list[Entry]:
    """Return the record in the order in which it was written."""
    if not path.exists():
        return []
    entries = []
    for line in path.read_text().splitlines():
        event, message, stage, pid, epoch, at, word = line.split(" ")
        entries.append(Entry(Event(event), int(message), stage, int(pid), int(epoch), float(at), word))
    return entries


def busy(path: Path) -> list[int]:
    """Return the workers that are at a message, by the end of the record at *path*."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        lines = file.read().decode().splitlines()[1:]
    last: dict[int, str] = {}
    for line in lines:
        words = line.split(" ")
        last[int(words[3])] = words[0]
    return [pid for pid, event in last.items() if event in (Event.BEGIN.value, Event.ACT.value)]
