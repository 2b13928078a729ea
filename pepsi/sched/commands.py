"""What the engine wants done. Whoever carries a command out reports back with the event named in its docstring."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pepsi.model.row import RowStatus
from pepsi.sched.statistics import Deltas


class Sender(NamedTuple):
    """What is known of a sender at a stage: its *lead* in seconds, and a *floor*.

    No row of the sender that waits there has an id below the floor. One without a lead may be named for its floor. A
    tuple: a claim may carry a thousand of them, and a frozen dataclass takes three times as long to make.
    """

    key: str
    lead: float = 0.0
    floor: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """What one stage has room for: *capacity* rows, of which *fifo* are the oldest ones whoever sent them.

    In the fair order a row ranks by its sender's lead and the *average* time of a message, in seconds, for each older
    row that the sender has waiting. The window of senders that is looked at begins past the key *after*, in the order
    of bytes, and wraps. No waiting row of the stage has an id below *floor*.
    """

    stage: str
    capacity: int
    fifo: int = 0
    average: float = 0.01
    after: str = ""
    floor: int = 0
    senders: tuple[Sender, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Turn pending rows to running under *token*: Claimed or ClaimFailed.

    *fair* is in the order of the wants' leads; otherwise the oldest rows of each stage are taken, and of a want only
    stage, capacity and floor count.
    """

    token: int
    fair: bool
    wants: tuple[Want, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start a worker of *stage* and call it *worker*: WorkerReady, WorkerGone or WorkerNotStarted."""

    worker: int
    stage: str


@dataclass(frozen=True, slots=True)
class Hand:
    """Write *ids* to the worker, in one write: Answered, later."""

    worker: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Retire:
    """Close the worker's standard input: it holds no id and is to end by itself. WorkerGone."""

    worker: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask the worker to end after the message in hand, and make it end if it does not: WorkerGone."""

    worker: int


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill the worker and its children at once: WorkerGone."""

    worker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """One write to a claimed row: it leaves running under *claim* for *status*.

    *delay* is in seconds from the database's now, for a paused row; *patch* is merged into its state.
    """

    workqueue_id: int
    claim: int
    status: RowStatus
    delay: float | None = None
    patch: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settle:
    """Write *settlements* in one statement, each guarded by its claim: Settled or SettleFailed."""

    settlements: tuple[Settlement, ...]


@dataclass(frozen=True, slots=True)
class AskDue:
    """Ask when the next paused row is due: DueIn or DueFailed."""


@dataclass(frozen=True, slots=True)
class FlipDue:
    """Turn due paused rows to pending, the oldest due first, *limit* at most: Flipped or DueFailed."""

    limit: int


@dataclass(frozen=True, slots=True)
class AskRunning:
    """Ask which rows are running: RunningRows, or nothing if the database does not answer.

    *look* is the number of the question.
    """

    look: int


@dataclass(frozen=True, slots=True)
class Flush:
    """Write the statistics: Flushed or FlushFailed. A repeated *number* is ignored by the database."""

    number: int
    deltas: Deltas


@dataclass(frozen=True, slots=True)
class Inspect:
    """Look whether the queue's table is in order, and tell the log; the engine hears nothing of it."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Delete bodies that no row refers to, *limit* at most: Swept."""

    limit: int


class Level(enum.StrEnum):
    """How loud a note is."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the log: *text* is a format, *facts* its values."""

    level: Level
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exit:
    """All is done, or given up: end the process with *status*. *left* are the rows that stay running."""

    status: int
    left: tuple[int, ...] = ()


Command = (
    Claim | Start | Hand | Retire | Stop | Kill | Settle | AskDue | FlipDue | AskRunning | Flush | Sweep | Inspect
    | Note | Exit
)  # fmt: skip
