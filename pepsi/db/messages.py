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
from pepsi.db.patch import Patch, joined, patch_of
from pepsi.db.statement import Statement, named
from pepsi.errors import StageError
from pepsi.model.message import Message, Need, State
from pepsi.model.outcome import Advance, Clone, Fail, Finish, Outcome, Pause, Requeue
from pepsi.model.row import FAILED_STAGE, FAILURE_CLASS, LAST_ERROR, RowStatus
from pepsi.model.settings import NOTHING_WANTED, Group, Wanted, correspondents, settings_of
from pepsi.model.text import one_line

Row = tuple[Any, ...]

_NONE: State = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settled:
    """An outcome that leaves the content of the row alone.

    *marks* are put into the state, *place* is the stage if that is another one, and how long the message waits.
    """

    message: Message
    status: RowStatus
    patch: Patch
    marks: State
    place: Mapping[str, Any]

    @property
    def record(self) -> dict[str, Any]:
        """What the statement is told of it."""
        key = {"id": self.message.workqueue_id, "claim": self.message.claim, "status": self.status.value}
        return {**key, **self.place, **_columns(self.patch, self.marks)}


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


def load(ids: Sequence[int], wanted: Wanted = NOTHING_WANTED) -> Statement:
    """Load those of *ids* that are running, with what is *wanted* of the settings of their correspondents."""
    return named("load_messages", ids=list(ids), stages=list(wanted.stages), keys=list(wanted.keys))


def loaded(rows: Iterable[Row], wanted: Wanted = NOTHING_WANTED) -> dict[int, Message]:
    """Read what ``load`` returned for the same *wanted*; by id."""
    messages = (
        Message(
            workqueue_id=row[0],
            claim=row[1],
            stage=row[2],
            received_at=row[3],
            age=row[4],
            mail_from=row[5],
            recipients=recipients,
            header_from=row[7],
            subject=row[8],
            peer=row[9],
            auth_login=row[10],
            size=row[11],
            state=row[12],
            header_block=None if row[13] is None else bytes(row[13]),
            body=None if row[14] is None else bytes(row[14]),
            settings=settings_of(wanted, correspondents(row[5], recipients, row[12]), row[15]),
        )
        for row in rows
        for recipients in (tuple(row[6]),)
    )
    return {message.workqueue_id: message for message in messages}


def split(message: Message, groups: Sequence[Group]) -> Statement:
    """Leave the recipients of the first of *groups* with *message*, and make a row for those of each other one.

    Together they must be just its recipients. The message still runs under its claim.
    """
    shares = json.dumps([group.recipients for group in groups])
    return named("split_message", id=message.workqueue_id, claim=message.claim, groups=shares)


def write(message: Message, outcome: Outcome, carried: Patch | None = None) -> Write:
    """Make *outcome* ready to be written. Raises StageError for what cannot be written at all.

    *carried*: several stages work on the message in one pass. It was loaded at an earlier stage than it is at now, and
    this is what was changed since.
    """
    match outcome:
        case Advance(stage=stage, changes=changes):
            patch = joined(carried, patch_of(changes), moves=True)
            target = checked.stage(stage)
            if patch.rewrites:
                return _alone("advance_rewritten", message, stage=target, **_rewritten(patch))
            return Settled(message, RowStatus.PENDING, patch, _NONE, {"stage": target})
        case Requeue(changes=changes):
            return _held(message, RowStatus.PENDING, patch_of(changes), carried)
        case Fail(reason=reason, failure_class=failure_class, changes=changes):
            marks = {LAST_ERROR: one_line(reason), FAILED_STAGE: message.stage, FAILURE_CLASS: failure_class.value}
            return _held(message, RowStatus.FAILED, patch_of(changes), carried, marks)
        case Pause(delay=delay, reason=reason, changes=changes, clones=clones):
            if delay is not None and not (math.isfinite(delay) and delay >= 0):
                raise StageError(f"the stage wants to wait for {delay} seconds")
            marks = {LAST_ERROR: one_line(reason)} if reason else {}
            patch = patch_of(changes)
            if clones or patch.rewrites:
                rewritten = _rewritten(patch, marks)
                alone = _alone("pause_rewritten", message, delay=delay, clones=_clones(clones), **rewritten)
                return _carried(alone, carried)
            return _held(message, RowStatus.PAUSED, patch, carried, marks, delay=delay)
        case Finish(clones=clones):
            if clones:
                return _carried(_alone("finish_with_clones", message, clones=_clones(clones)), carried)
            return Finished(message)
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
        yield _settle(settled), tuple(one.message for one in settled)
    if finished:
        messages = tuple(one.message for one in finished)
        yield named("finish_messages", ids=_ids(messages), claims=[message.claim for message in messages]), messages


def _settle(settled: Sequence[Settled]) -> Statement:
    outcomes = json.dumps([one.record for one in settled])
    return named("settle_messages", ids=_ids(one.message for one in settled), outcomes=outcomes)


def _ids(messages: Iterable[Message]) -> list[int]:
    return [message.workqueue_id for message in messages]


def _alone(query_name: str, message: Message, **params: Any) -> Alone:
    return Alone(message, named(query_name, id=message.workqueue_id, claim=message.claim, **params))


def _held(
    message: Message, status: RowStatus, patch: Patch, carried: Patch | None, marks: State = _NONE, **place: Any
) -> Settled | Alone:
    """Make an outcome ready by which the row stays at its stage, or at the one that it has come to meanwhile."""
    if patch.rewrites:
        raise StageError("the stage rewrites a message that it neither sends on nor lets wait")
    if carried is None:
        return Settled(message, status, patch, marks, place)
    if carried.rewrites:
        return _carried(Alone(message, _settle([Settled(message, status, patch, marks, place)])), carried)
    return Settled(message, status, joined(carried, patch, moves=False), marks, {"stage": message.stage, **place})


def _carried(alone: Alone, carried: Patch | None) -> Alone:
    """Have the row brought to the stage that its message has come to first, in the same round trip.

    Statements that are sent together are one transaction.
    """
    if carried is None:
        return alone
    message, columns = alone.message, _rewritten(carried)
    place = {"carried_id": message.workqueue_id, "carried_claim": message.claim}
    rest = {f"carried_{name}": columns.pop(name) for name in ("mail_from", "recipients", "state")}
    parts = [named("carry_on", carried_stage=message.stage, **place, **rest)]
    if carried.rewrites:
        content = {f"carried_{name}": value for name, value in columns.items()}
        parts.append(named("carry_content", **place, **content))
    parts.append(alone.statement)
    params = {name: value for part in parts for name, value in part.params.items()}
    return Alone(message, Statement(";\n".join(part.text for part in parts), params))


def _rewritten(patch: Patch, marks: State = _NONE) -> dict[str, Any]:
    columns = _columns(patch, marks)
    return {
        **columns,
        "state": json.dumps(columns["state"]),
        "header_block": patch.header_block,
        "body": patch.body,
        "header_from": patch.header_from,
        "subject": patch.subject,
    }


def _columns(patch: Patch, marks: State) -> dict[str, Any]:
    return {
        "mail_from": patch.mail_from,
        "recipients": patch.recipients,
        "state": {**patch.state, **marks} if marks else patch.state,
    }


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
