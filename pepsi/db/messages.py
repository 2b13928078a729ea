"""The statements by which a worker loads messages and writes what became of them: one round trip each.

All take lists. Every write is guarded by the claim that was loaded with the row, and returns the ids that it hit: a row
that has meanwhile been repaired, deleted or claimed anew is not among them.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, assert_never

from pepsi.db import checked
from pepsi.db.statement import Statement, named
from pepsi.errors import StageError
from pepsi.model.message import Message, Need, State
from pepsi.model.outcome import Advance, Changes, Clone, Fail, Finish, Outcome, Pause, Requeue
from pepsi.model.row import FAILED_STAGE, FAILURE_CLASS, LAST_ERROR, RowStatus
from pepsi.model.text import one_line

Row = tuple[Any, ...]

_NONE: State = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settled:
    """An outcome that moves the row on and leaves its content alone."""

    message: Message
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of which no row remains."""

    message: Message


@dataclass(frozen=True, slots=True)
class Alone:
    """An outcome that needs a statement of its own."""

    message: Message
    statement: Statement


Write = Settled | Finished | Alone
"""An outcome made ready to be written."""


def prepare(need: Need) -> Statement:
    """Prepare the frequent statements, for a stage that needs *need*. To be run once on each connection."""
    match need:
        case Need.METADATA:
            load = named("prepare_load_metadata")
        case Need.HEADERS:
            load = named("prepare_load_headers")
        case Need.BODY:
            load = named("prepare_load_body")
        case _:
            assert_never(need)
    parts = (named("plan_for_a_large_queue"), load, named("prepare_settle"), named("prepare_finish"))
    return Statement(";\n".join(part.text for part in parts))


def load(ids: Sequence[int]) -> Statement:
    """Load those of *ids* that are running."""
    return named("load_messages", ids=list(ids))


def loaded(rows: Iterable[Row]) -> dict[int, Message]:
    """Read what ``load`` returned; by id."""
    messages = (
        Message(
            workqueue_id=row[0],
            claim=row[1],
            stage=row[2],
            received_at=row[3],
            age=row[4],
            mail_from=row[5],
            recipients=tuple(row[6]),
            header_from=row[7],
            subject=row[8],
            peer=row[9],
            auth_login=row[10],
            size=row[11],
            state=row[12],
            header_block=None if row[13] is None else bytes(row[13]),
            body=None if row[14] is None else bytes(row[14]),
        )
        for row in rows
    )
    return {message.workqueue_id: message for message in messages}


def write(message: Message, outcome: Outcome) -> Write:
    """Make *outcome* ready to be written. Raises StageError for what cannot be written at all."""
    match outcome:
        case Advance(stage=stage, changes=changes):
            target = checked.stage(stage)
            if _rewrites(changes):
                return _alone("advance_rewritten", message, stage=target, **_rewritten(changes))
            return _settled(message, RowStatus.PENDING, changes, stage=target)
        case Requeue(changes=changes):
            return _settled(message, RowStatus.PENDING, changes)
        case Fail(reason=reason, failure_class=failure_class, changes=changes):
            marks = {LAST_ERROR: one_line(reason), FAILED_STAGE: message.stage, FAILURE_CLASS: failure_class.value}
            return _settled(message, RowStatus.FAILED, changes, marks)
        case Pause(delay=delay, reason=reason, changes=changes, clones=clones):
            if delay is not None and not (math.isfinite(delay) and delay >= 0):
                raise StageError(f"the stage wants to wait for {delay} seconds")
            marks = {LAST_ERROR: one_line(reason)} if reason else {}
            if clones or _rewrites(changes):
                rewritten = _rewritten(changes, marks)
                return _alone("pause_rewritten", message, delay=delay, clones=_clones(clones), **rewritten)
            return _settled(message, RowStatus.PAUSED, changes, marks, delay=delay)
        case Finish(clones=clones):
            return _alone("finish_with_clones", message, clones=_clones(clones)) if clones else Finished(message)
        case _:
            raise StageError(f"the stage returned {type(outcome).__name__}, which is no outcome")


def statements(writes: Iterable[Write]) -> Iterator[tuple[Statement, tuple[Message, ...]]]:
    """Put *writes* into as few statements as can be; each with the messages that it writes of."""
    settled: list[Settled] = []
    finished: list[Finished] = []
    for one in writes:
        match one:
            case Settled():
                settled.append(one)
            case Finished():
                finished.append(one)
            case Alone(message=message, statement=statement):
                yield statement, (message,)
            case _:
                assert_never(one)
    if settled:
        messages = tuple(one.message for one in settled)
        records = [{"id": one.message.workqueue_id, "claim": one.message.claim, **one.record} for one in settled]
        yield named("settle_messages", ids=_ids(messages), outcomes=json.dumps(records)), messages
    if finished:
        messages = tuple(one.message for one in finished)
        yield named("finish_messages", ids=_ids(messages), claims=[message.claim for message in messages]), messages


def _ids(messages: Iterable[Message]) -> list[int]:
    return [message.workqueue_id for message in messages]


def _alone(query_name: str, message: Message, **params: Any) -> Alone:
    return Alone(message, named(query_name, id=message.workqueue_id, claim=message.claim, **params))


def _settled(message: Message, status: RowStatus, changes: Changes, marks: State = _NONE, **record: Any) -> Settled:
    if _rewrites(changes):
        raise StageError("the stage rewrites a message that it neither sends on nor lets wait")
    return Settled(message, {"status": status.value, **record, **_columns(changes, marks)})


def _rewritten(changes: Changes, marks: State = _NONE) -> dict[str, Any]:
    columns = _columns(changes, marks)
    return {
        **columns,
        "state": json.dumps(columns["state"]),
        "header_block": changes.header_block,
        "body": changes.body,
        "header_from": _field(changes.header_block, b"From"),
        "subject": _field(changes.header_block, b"Subject"),
    }


def _field(header_block: bytes | None, name: bytes) -> str | None:
    if header_block is None:
        return None
    # Imported here: it costs a tenth of a worker's start, and few stages rewrite headers.
    from pepsi.model.headers import shown_field

    return shown_field(header_block, name)


def _columns(changes: Changes, marks: State) -> dict[str, Any]:
    return {
        "mail_from": checked.sender(changes.mail_from),
        "recipients": checked.recipients(changes.recipients),
        "state": {**checked.state(changes.state), **marks},
    }


def _rewrites(changes: Changes) -> bool:
    return changes.header_block is not None or changes.body is not None


def _clones(clones: Iterable[Clone]) -> str:
    return json.dumps(
        [
            {
                "stage": checked.stage(clone.stage),
                "status": clone.status.value,
                "mail_from": checked.sender(clone.mail_from),
                "recipients": checked.recipients(clone.recipients),
                "state": checked.state(clone.state),
            }
            for clone in clones
        ]
    )
