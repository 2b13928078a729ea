"""What happens to the dispatcher. Each event carries all that one read, one timer or one statement brought."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from pepsi.model.stage import StageSpec
from pepsi.model.status import Status


class Wake(enum.StrEnum):
    """Why there may be work that the engine cannot know of."""

    NOTIFIED = "notified"
    HEARTBEAT = "heartbeat"
    CONNECTED = "connected"
    DUE = "due"
    REPAIR = "repair"
    """Somebody has moved rows by hand: they may be older than all that was claimed."""


@dataclass(frozen=True, slots=True)
class Woken:
    """There may be pending rows."""

    reason: Wake


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedRow:
    """One row that the claim turned to running.

    *strikes* is what it carries from earlier crashes and hangs, *interrupted* how often its dispatcher died meanwhile.
    """

    workqueue_id: int
    stage: str
    sender: str = ""
    strikes: int = 0
    interrupted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The senders that a fair claim looked at for one stage.

    *last* is the last of them, past which the next window begins. *complete*: all senders that wait at the stage were
    among them. *lowest* is their smallest lead, in seconds; 0 when there was nobody, or somebody without a lead.
    """

    stage: str
    last: str
    complete: bool
    lowest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The claim under way came back, with its rows in the order in which they are to be handed out.

    A fair claim also brings a window for each stage that it was made for.
    """

    token: int
    rows: tuple[ClaimedRow, ...]
    windows: tuple[Window, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimFailed:
    """The claim under way did not come back. *unknown*: it may have been done, until the rows are reconciled."""

    unknown: bool = True


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker said ``ready``."""

    worker: int
    batch: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """A worker's answers of one read, oldest first."""

    worker: int
    statuses: tuple[Status, ...]


@dataclass(frozen=True, slots=True)
class Garbled:
    """A worker wrote what the protocol does not allow."""

    worker: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerGone:
    """A worker has exited and all it wrote was read. One of *code* and *signal* is set."""

    worker: int
    code: int | None = None
    signal: int | None = None

    @property
    def how(self) -> str:
        """The end in words."""
        return f"signal {self.signal}" if self.signal is not None else f"exit status {self.code}"


@dataclass(frozen=True, slots=True)
class WorkerNotStarted:
    """A worker's program could not be started at all."""

    worker: int
    why: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The settlements under way are written, or their rows had moved on.

    *locked* are the ids of those that are not, because somebody else holds their rows.
    """

    locked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SettleFailed:
    """The settlements under way could not be written. *refused*: the database took the statement and said no."""

    why: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class DueIn:
    """The next paused row is due in *delay* seconds by the database's clock; None: no paused row is ever due."""

    delay: float | None


@dataclass(frozen=True, slots=True)
class DueFailed:
    """The question for the next due row, or the flip of due rows, did not come back."""


@dataclass(frozen=True, slots=True)
class Flipped:
    """These due rows are pending now."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRow:
    """One row that the database calls running."""

    workqueue_id: int
    claim: int
    stage: str
    strikes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRows:
    """The rows that the database calls running, whoever runs them. *look*: in answer to which question."""

    look: int
    rows: tuple[RunningRow, ...]


@dataclass(frozen=True, slots=True)
class FormerReturned:
    """What former dispatchers had left running is pending again."""


@dataclass(frozen=True, slots=True)
class Flushed:
    """The statistics under way are written."""


@dataclass(frozen=True, slots=True)
class FlushFailed:
    """The statistics under way could not be written."""


@dataclass(frozen=True, slots=True)
class Swept:
    """The sweep under way is over. *more*: it did not get to the end."""

    more: bool


@dataclass(frozen=True, slots=True)
class LockLost:
    """The session that holds the dispatcher's lock is gone, or does not answer."""


@dataclass(frozen=True, slots=True)
class LockHeld:
    """The lock is held, and what a crash of the server had un-done is put right: claiming may go on."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """Another dispatcher ran meanwhile: no row is ours any more."""

    why: str


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """The stages are *specs* from now on, and every worker is to be replaced by one that has read them."""

    specs: Mapping[str, StageSpec]


@dataclass(frozen=True, slots=True)
class WorkersOutdated:
    """Every worker is to be replaced: something has changed that workers read at their start."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """Somebody asked for an orderly end."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A timer that the engine asked for has come."""


Event = (
    Woken | Claimed | ClaimFailed | WorkerReady | Answered | Garbled | WorkerGone | WorkerNotStarted | Settled
    | SettleFailed | DueIn | DueFailed | Flipped | RunningRows | FormerReturned | Flushed | FlushFailed | Swept
    | LockLost | LockHeld | Fenced | ConfigChanged | WorkersOutdated | StopRequested | Tick
)  # fmt: skip
