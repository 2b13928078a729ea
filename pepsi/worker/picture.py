"""A message, and what became of it, as lines for a person to compare."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Changes, Clone, Fail, Finish, Outcome, Pause, Requeue
from pepsi.model.row import CLEARED_BY_ADVANCE, FAILED_STAGE, FAILURE_CLASS, LAST_ERROR, RowStatus


def picture(message: Message, outcome: Outcome) -> Iterator[str]:
    """Return *outcome* in words, then the difference that it makes to *message*, then each clone."""
    yield _words(outcome)
    yield from _difference(message, changed(message, outcome))
    for clone in outcome.clones if isinstance(outcome, Finish | Pause) else ():
        yield f"and a copy {'is kept as failed' if clone.status is RowStatus.FAILED else 'goes on'} at {clone.stage}"
        yield from _difference(message, _copy(message, clone))


def _words(outcome: Outcome) -> str:
    match outcome:
        case Advance(stage=stage):
            return f"goes on to {stage}"
        case Finish():
            return "is finished"
        case Pause(delay=None):
            return "waits until somebody releases it"
        case Pause(delay=delay):
            return f"waits for {delay:.0f} s"
        case Requeue():
            return "is tried again at once"
        case Fail(reason=reason):
            return f"is kept as failed: {shown(reason)}"


def changed(message: Message, outcome: Outcome) -> Message:
    """Return *message* as the worker would write it."""
    match outcome:
        case Advance(stage=stage, changes=changes):
            return _with(_moved_on(message, stage), changes, {})
        case Pause(reason=reason, changes=changes):
            return _with(message, changes, {LAST_ERROR: reason} if reason else {})
        case Requeue(changes=changes):
            return _with(message, changes, {})
        case Fail(reason=reason, failure_class=failure_class, changes=changes):
            marks = {LAST_ERROR: reason, FAILED_STAGE: message.stage, FAILURE_CLASS: failure_class.value}
            return _with(message, changes, marks)
        case Finish():
            return message


def shown(text: str) -> str:
    """Return *text* with all that could drive a terminal written as an escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _with(message: Message, changes: Changes, marks: Mapping[str, Any]) -> Message:
    removed = {key for key, value in changes.state.items() if value is None}
    state = {**message.state, **changes.state, **marks}
    return replace(
        message,
        mail_from=message.mail_from if changes.mail_from is None else changes.mail_from,
        recipients=message.recipients if changes.recipients is None else tuple(changes.recipients),
        header_block=message.header_block if changes.header_block is None else changes.header_block,
        body=message.body if changes.body is None else changes.body,
        state={key: value for key, value in state.items() if key not in removed},
    )


def _copy(message: Message, clone: Clone) -> Message:
    changes = Changes(mail_from=clone.mail_from, recipients=clone.recipients, state=clone.state)
    return _with(_moved_on(message, clone.stage), changes, {})


def _moved_on(message: Message, stage: str) -> Message:
    kept = {key: value for key, value in message.state.items() if key not in CLEARED_BY_ADVANCE}
    return replace(message, stage=stage, state=kept)


def _difference(before: Message, after: Message) -> Iterator[str]:
    return difflib.unified_diff(list(_lines(before)), list(_lines(after)), "before", "after", lineterm="", n=1)


def _lines(message: Message) -> Iterator[str]:
    yield f"stage: {shown(message.stage)}"
    yield f"mail_from: {shown(message.mail_from)}"
    for recipient in message.recipients:
        yield f"recipient: {shown(recipient)}"
    for key in sorted(message.state):
        yield f"state.{shown(key)}: {shown(json.dumps(message.state[key], ensure_ascii=False, default=repr))}"
    for name, part in (("header block", message.header_block), ("body", message.body)):
        if part is not None:
            yield f"{name}:"
            yield from (shown(line) for line in _split(part))


def _split(part: bytes) -> Iterable[str]:
    return part.decode("utf-8", "replace").removesuffix("\r\n").split("\r\n")
