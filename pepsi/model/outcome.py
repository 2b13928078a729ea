"""What a stage decides about a message. The worker commits it; nothing else does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pepsi.model.row import FailureClass, RowStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a stage changes on the row beside its place. None leaves a column as it is.

    *state* is merged into the row's state key by key; a value of None removes the key.
    """

    mail_from: str | None = None
    recipients: tuple[str, ...] | None = None
    header_block: bytes | None = None
    body: bytes | None = None
    state: Mapping[str, Any] = field(default_factory=dict)


UNCHANGED = Changes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """A new row that an outcome spawns from the row it ends or holds: same message, other recipients, other stage.

    With *status* FAILED the clone is filed at *stage* for a person to look at.
    """

    stage: str
    recipients: tuple[str, ...]
    mail_from: str | None = None
    status: RowStatus = RowStatus.PENDING
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """The message goes on to *stage*. Strikes and temporary failures are left behind."""

    stage: str
    changes: Changes = UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The message is done with: its row is deleted, *clones* are put in."""

    clones: tuple[Clone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The message waits here for *delay* seconds (None: until somebody releases it)."""

    delay: float | None
    reason: str = ""
    changes: Changes = UNCHANGED
    clones: tuple[Clone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeue:
    """The message is pending again at once, at the same stage."""

    changes: Changes = UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """The message cannot go on: it is kept as failed, with *reason* for the operator."""

    reason: str
    failure_class: FailureClass = FailureClass.PERMANENT
    changes: Changes = UNCHANGED


Outcome = Advance | Finish | Pause | Requeue | Fail
