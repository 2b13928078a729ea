"""What becomes of a message that a stage cannot do anything more for."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from pepsi.config.options import StageOptions
from pepsi.model.message import Message
from pepsi.model.outcome import UNCHANGED, Advance, Changes, Clone, Fail, Finish
from pepsi.model.row import FAILED_STAGE, FAILURE_CLASS, LAST_ERROR, LIST_COPY, NOTICE_BUILT_AT, FailureClass, RowStatus


def expired(message: Message, options: StageOptions) -> bool:
    """Whether *message* has been tried for longer than MAX_LIFETIME, by the clock of the database.

    It counts from the arrival; for a notice that was built from a message, from when that was.
    """
    return message.age - _head_start(message) > options.max_lifetime


def bounce_of(message: Message, options: StageOptions) -> str | None:
    """Return the stage that *message* goes to when it is given up; None if it is kept as failed.

    A copy that a mailing list made is kept: nobody who wrote to a list wants to hear from each of its members.
    """
    return None if message.state.get(LIST_COPY) else options.bounce_stage


def give_up(
    message: Message,
    options: StageOptions,
    reason: str,
    failure_class: FailureClass = FailureClass.PERMANENT,
    *,
    changes: Changes = UNCHANGED,
    clones: tuple[Clone, ...] = (),
) -> Advance | Finish | Fail:
    """Return the outcome that sends *message* to the stage of ``bounce_of``, or keeps it as failed.

    *reason* is for the operator, and goes into no notice. *changes* are made and *clones* are spawned in either case.
    """
    bounce = bounce_of(message, options)
    marks = {LAST_ERROR: reason, FAILED_STAGE: message.stage, FAILURE_CLASS: failure_class.value}
    marked = replace(changes, state={**changes.state, **marks})
    if clones:
        # Only a finish or a pause can spawn rows, so the message itself goes on as one of them.
        rest = Clone(
            stage=message.stage if bounce is None else bounce,
            recipients=message.recipients if changes.recipients is None else changes.recipients,
            mail_from=changes.mail_from,
            status=RowStatus.FAILED if bounce is None else RowStatus.PENDING,
            state=marked.state,
        )
        return Finish(clones=(*clones, rest))
    if bounce is None:
        return Fail(reason=reason, failure_class=failure_class, changes=changes)
    return Advance(stage=bounce, changes=marked)


def _head_start(message: Message) -> float:
    """Return the seconds between the arrival of *message* and what its lifetime counts from."""
    built: Any = message.state.get(NOTICE_BUILT_AT)
    try:
        return max(0.0, (datetime.fromisoformat(built) - message.received_at).total_seconds())
    except (TypeError, ValueError):
        return 0.0
