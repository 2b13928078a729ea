"""From the results for each recipient to one outcome for the message. Pure."""

from collections.abc import Iterable, Mapping

from pepsi.config.options import StageOptions
from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Changes, Clone, Finish, Outcome
from pepsi.model.row import (
    DELIVERIES,
    FAILED_STAGE,
    FAILURE_CLASS,
    LAST_ERROR,
    FailureClass,
    RowStatus,
)
from pepsi.model.text import REASON_LIMIT, cut, one_line
from pepsi.relay.addresses import mailbox_key
from pepsi.relay.answers import Answer, Verdict
from pepsi.stages.api import TryLater
from pepsi.stages.giving_up import bounce_of, give_up

USUAL_RUNTIME = 300.0
"""Seconds for a message where no MAX_RUNTIME is known."""

_KEPT = 100
_KEPT_BYTES = 16 * 1024
"""How many answers a row keeps, and about how much of what the hosts said: a narrow row is a fast one."""


def time_for_message(options: StageOptions) -> float:
    """Return the seconds that a stage may use up: less than MAX_RUNTIME, after which its worker is killed."""
    return 0.9 * (options.max_runtime or USUAL_RUNTIME)


def spread(answers: Mapping[str, Answer], recipients: Iterable[str]) -> dict[str, Answer]:
    """Return an answer for each of *recipients*, of which several can be the same mailbox."""
    by_mailbox = {mailbox_key(recipient): answer for recipient, answer in answers.items()}
    return {recipient: by_mailbox[mailbox_key(recipient)] for recipient in recipients}


def conclude(message: Message, options: StageOptions, answers: Mapping[str, Answer]) -> Outcome:
    """Return what becomes of *message*, of which *answers* has the result for each recipient.

    Each recipient ends in exactly one place: those who got the message go on to NEXT_STAGE, or are done with; those who
    were refused go to BOUNCE_STAGE, or are kept as failed; those who must wait stay on the row. Raises TryLater if
    there are any of the last.
    """
    delivered = _those(message, answers, Verdict.DELIVERED)
    refused = _those(message, answers, Verdict.REFUSED)
    waiting = _those(message, answers, Verdict.RETRY)
    if not refused and not waiting:
        return _onward(options)
    clones: tuple[Clone, ...] = ()
    if delivered and options.next_stage is not None:
        clones = (Clone(stage=options.next_stage, recipients=delivered, state={DELIVERIES: None}),)
    if not waiting:
        return give_up(message, options, _reason(refused, answers), changes=_left(refused, answers), clones=clones)
    if refused:
        clones = (*clones, _given_up(message, options, refused, answers))
    raise TryLater(_reason(waiting, answers), changes=_left(waiting, answers), clones=clones)


def _those(message: Message, answers: Mapping[str, Answer], verdict: Verdict) -> tuple[str, ...]:
    once = dict.fromkeys(message.recipients)
    return tuple(recipient for recipient in once if answers[recipient].verdict is verdict)


def _onward(options: StageOptions) -> Outcome:
    if options.next_stage is None:
        return Finish()
    return Advance(stage=options.next_stage, changes=Changes(state={DELIVERIES: None}))


def _left(recipients: tuple[str, ...], answers: Mapping[str, Answer]) -> Changes:
    return Changes(recipients=recipients, state={DELIVERIES: _deliveries(recipients, answers)})


def _given_up(
    message: Message, options: StageOptions, refused: tuple[str, ...], answers: Mapping[str, Answer]
) -> Clone:
    """Return the row that takes *refused* away from a message that others still wait for."""
    bounce = bounce_of(message, options)
    marks = {
        LAST_ERROR: _reason(refused, answers),
        FAILED_STAGE: message.stage,
        FAILURE_CLASS: FailureClass.PERMANENT.value,
    }
    return Clone(
        stage=message.stage if bounce is None else bounce,
        recipients=refused,
        status=RowStatus.FAILED if bounce is None else RowStatus.PENDING,
        state={**_left(refused, answers).state, **marks},
    )


def _deliveries(recipients: tuple[str, ...], answers: Mapping[str, Answer]) -> dict[str, dict[str, str]]:
    kept = recipients[:_KEPT]
    limit = _KEPT_BYTES // max(1, len(kept))
    said = {recipient: answers[recipient].as_state() for recipient in kept}
    return {recipient: {key: cut(value, limit) for key, value in parts.items()} for recipient, parts in said.items()}


def _reason(recipients: tuple[str, ...], answers: Mapping[str, Answer]) -> str:
    """Return one line with the reasons, each once, and one of the recipients that it is about."""
    examples: dict[str, list[str]] = {}
    for recipient in recipients:
        examples.setdefault(answers[recipient].reason, []).append(recipient)
    parts = []
    for reason, those in examples.items():
        others = f" and {len(those) - 1} more" if len(those) > 1 else ""
        parts.append(f"{those[0]}{others}: {reason}")
    return one_line("; ".join(parts), REASON_LIMIT)
