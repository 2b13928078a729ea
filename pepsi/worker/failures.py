"""What becomes of a message when something goes wrong with it. The one table of failures is here.

Whatever a stage raises is taken for the host's fault unless the stage says otherwise: a host fault taken for the
message's cannot be taken back, and the other way round it costs only retries.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace

from pepsi.config.options import StageOptions
from pepsi.db.faults import Fault
from pepsi.model.message import Message
from pepsi.model.outcome import Changes, Fail, Outcome, Pause, Requeue
from pepsi.model.row import TEMPORARY_FAILURES, FailureClass
from pepsi.model.status import IO_ERROR, OK, TEMP_FAIL, Status
from pepsi.model.text import one_line
from pepsi.sched.backoff import delay, jittered
from pepsi.stages.api import Refuse, TryLater
from pepsi.stages.giving_up import bounce_of, expired, give_up

FIRST_DELAY = 60.0
LONGEST_DELAY = 3600.0
"""Seconds between two tries."""

EX_DATAERR = 65
"""Answered for a message that is at fault itself."""
EX_UNAVAILABLE = 69
"""Answered for a message that was tried for too long."""

_MOST_FAILURES = 1_000_000


class Blame(enum.Enum):
    """Whose fault an error is."""

    MESSAGE = "message"  # it is kept as failed
    NOBODY = "nobody"  # it is tried again; the stage knew what it did
    HOST = "host"  # it is tried again, and the log has a traceback
    PROCESS = "process"  # the worker dies of it


_TABLE: tuple[tuple[type[Exception], Blame], ...] = (
    (Refuse, Blame.MESSAGE),
    (TryLater, Blame.NOBODY),
    (MemoryError, Blame.PROCESS),
    (SystemError, Blame.PROCESS),
    (Exception, Blame.HOST),
)
"""What a stage raises, and whose fault it is. The first line that fits counts."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a message, the status to answer once that is written, and what went wrong if something did."""

    outcome: Outcome
    status: Status
    reason: str = ""


def returned(outcome: Outcome) -> Decision:
    """Return what becomes of a message for which its stage returned *outcome*: just that.

    But for a Requeue or Fail that rewrites the message, which nobody can write: trying again would not mend the stage.
    """
    if isinstance(outcome, Requeue | Fail) and _rewrites(outcome.changes):
        told = f"{outcome.reason}; " if isinstance(outcome, Fail) else ""
        bug = f"a bug of the stage: {type(outcome).__name__} cannot change header_block or body"
        outcome = Fail(reason=f"{told}{bug}, only Advance and Pause can")
    if isinstance(outcome, Fail):
        return Decision(outcome, Status(code=EX_DATAERR, reason=outcome.reason))
    return Decision(outcome, Status(code=OK))


def blame(error: Exception) -> Blame:
    """Return whose fault it is that a stage raised *error*."""
    return next(whose for kind, whose in _TABLE if isinstance(error, kind))


def decide(error: Exception, message: Message, options: StageOptions, chance: Callable[[], float]) -> Decision:
    """Return what becomes of *message*, for which its stage raised *error*. *chance* returns 0 up to 1."""
    if blame(error) is Blame.MESSAGE:
        return replace(returned(Fail(reason=str(error))), reason=one_line(str(error)))
    knew = error if isinstance(error, TryLater) else TryLater(f"{type(error).__name__}: {error}")
    reason = one_line(str(knew))
    if expired(message, options):
        outcome = give_up(
            message, options, reason, FailureClass.RETRIES_EXHAUSTED, changes=knew.changes, clones=knew.clones
        )
        kept = bounce_of(message, options) is None
        return Decision(outcome, Status(code=EX_UNAVAILABLE, reason=reason) if kept else Status(code=OK), reason)
    failures = _failures(message) + 1
    seconds = jittered(delay(failures, FIRST_DELAY, LONGEST_DELAY), chance) if knew.after is None else knew.after
    changes = replace(knew.changes, state={**knew.changes.state, TEMPORARY_FAILURES: failures})
    return Decision(Pause(delay=seconds, reason=reason, changes=changes, clones=knew.clones), Status(code=OK), reason)


def code_of(fault: Fault) -> int:
    """Return the status to answer for a message when *fault* kept the database from doing its part."""
    return TEMP_FAIL if fault is Fault.LIMIT else IO_ERROR


def _rewrites(changes: Changes) -> bool:
    return changes.header_block is not None or changes.body is not None


def _failures(message: Message) -> int:
    """Return how often *message* failed here before. Its state may hold anything."""
    count = message.state.get(TEMPORARY_FAILURES)
    return count if isinstance(count, int) and 0 <= count < _MOST_FAILURES else 0
