"""A worker as the engine knows it."""

import enum
from collections import deque
from dataclasses import dataclass, field

from pepsi.model import status
from pepsi.sched.held import Held


class Life(enum.Enum):
    """How far a worker has come. docs/ARCHITECTURE.md has the table of who may hold ids and take more."""

    STARTING = "starting"  # its program runs, 'ready' has not come; may hold ids
    READY = "ready"  # takes ids
    DRAINING = (
        "draining"  # takes no more: it has read a configuration that was changed; is let go when it holds nothing
    )
    RETIRING = "retiring"  # let go: it holds nothing, and ends when it sees that its standard input is closed
    STOPPING = "stopping"  # told to end after the message in hand
    KILLED = "killed"  # sent SIGKILL; what it holds is held until its death is confirmed

    @property
    def takes_ids(self) -> bool:
        """Whether a slot may be filled."""
        return self in (Life.STARTING, Life.READY)

    @property
    def end_asked_for(self) -> bool:
        """Whether its end would be no surprise."""
        return self in (Life.RETIRING, Life.STOPPING)


class Blame(enum.Enum):
    """Whose fault it is that a worker has ended."""

    HANG = "hang"
    CRASH = "crash"
    START = "start"  # the program's or the configuration's: it did not get ready
    NOBODY = "nobody"


@dataclass(slots=True, eq=False)
class Worker:
    """One child process. *line* is its pipeline, the oldest unanswered id first."""

    number: int
    stage: str
    since: float
    """When it was started."""
    quota: int
    """Ids it may still be handed before it is replaced."""
    max_runtime: float = float("inf")
    """Seconds that it may be at work on one message."""
    life: Life = Life.STARTING
    outgoing: bool = False
    """Whether it was started for a configuration that was changed, and others may be started beside it."""
    line: deque[Held] = field(default_factory=deque)
    idle_since: float = 0.0
    head_since: float = 0.0
    """When the head of the line became the head, or the worker ready, whichever came later."""
    answered: int = 0
    was_ready: bool = False
    batch: bool = False
    """Whether it may be at work on any id of its line, not just on the head."""
    blame: Blame | None = None
    """Set when we kill it."""
    why: str = ""
    killed_at: float = 0.0
    alarmed: bool = False
    due: float = float("inf")
    """When there is something to be done about it if nothing is heard of it until then. ``reckon`` keeps it."""

    def reckon(self, idle_timeout: float, unkillable: float) -> float:
        """Return and keep when something is due: it hangs, is to be let go, or cannot be killed. Infinity: never.

        To be called whenever its life, its line or its head has changed.
        """
        deadline = self.deadline()
        if deadline is not None:
            self.due = deadline
        elif self.life is Life.READY:
            self.due = self.idle_since + (idle_timeout if self.quota > 0 else 0.0)
        elif self.life is Life.DRAINING:
            self.due = float("-inf")
        elif self.life is Life.KILLED and not self.alarmed:
            self.due = self.killed_at + unkillable
        else:
            self.due = float("inf")
        return self.due

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do and can be let go."""
        return self.life in (Life.READY, Life.DRAINING) and not self.line

    @property
    def engaged(self) -> bool:
        """Whether it holds an id that is to run alone."""
        return bool(self.line) and self.line[0].alone

    def deadline(self) -> float | None:
        """When the worker has been silent for too long: as a head of line, or before ``ready``."""
        match self.life:
            case Life.STARTING:
                return self.since + self.max_runtime
            case Life.READY | Life.DRAINING if self.line:
                return (self.head_since if self.was_ready else self.since) + self.max_runtime
        return None


def blame_of(worker: Worker, code: int | None) -> Blame:
    """Return whose fault it is that *worker* ended, with exit status *code* unless it was a signal."""
    if worker.life.end_asked_for:
        return Blame.NOBODY
    if code == status.BAD_CONFIG and not worker.answered:
        return Blame.START
    if worker.blame is not None:
        return worker.blame
    return Blame.CRASH if worker.was_ready else Blame.START
