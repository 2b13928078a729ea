"""What a stage changes on a row, as the columns take it, and what the row is like then.

Several stages can work on a message in one pass. Each must see just what it would have loaded, had the one before it
been written, and all of it is written at once. So there is one reading of what changes mean, and it is here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pepsi.db import checked
from pepsi.model.message import Message, Need, State, varied
from pepsi.model.outcome import UNCHANGED, Changes
from pepsi.model.row import CLEARED_BY_ADVANCE

_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Changes that the database takes. None leaves a column as it is; None in *state* removes a key."""

    mail_from: str | None = None
    recipients: list[str] | None = None
    state: State = field(default_factory=dict)
    header_block: bytes | None = None
    body: bytes | None = None

    @property
    def rewrites(self) -> bool:
        """Whether the message has another content then."""
        return self.header_block is not None or self.body is not None

    @property
    def header_from(self) -> str | None:
        """From, as it is to be shown and matched then."""
        return _field(self.header_block, b"From")

    @property
    def subject(self) -> str | None:
        """Subject, likewise."""
        return _field(self.header_block, b"Subject")


NOTHING = Patch()


def patch_of(changes: Changes) -> Patch:
    """Return *changes* cleaned. Raises StageError for what no column takes."""
    if changes is UNCHANGED:
        return NOTHING
    return Patch(
        mail_from=checked.sender(changes.mail_from),
        recipients=checked.recipients(changes.recipients),
        state=checked.state(changes.state),
        header_block=changes.header_block,
        body=changes.body,
    )


def joined(carried: Patch | None, patch: Patch, *, moves: bool) -> Patch:
    """Return *patch* on top of *carried*, which is None if nothing was changed before.

    *moves*: the message goes on to another stage once more, and leaves behind what belongs to the one that it was at.
    """
    if carried is None or carried is NOTHING:
        return patch
    left = {key: None for key in CLEARED_BY_ADVANCE if key in carried.state} if moves else {}
    if patch is NOTHING and not left:
        return carried
    return Patch(
        mail_from=carried.mail_from if patch.mail_from is None else patch.mail_from,
        recipients=carried.recipients if patch.recipients is None else patch.recipients,
        state={**carried.state, **left, **patch.state},
        header_block=carried.header_block if patch.header_block is None else patch.header_block,
        body=carried.body if patch.body is None else patch.body,
    )


def moved(message: Message, state: State, stage: str, patch: Patch, need: Need) -> Message | None:
    """Return *message* as *stage*, which needs *need*, would load it; None if that cannot be told.

    That is so where one part of a message was rewritten and the rest was not loaded: nobody knows its size. *patch* is
    all that was changed since *message* was loaded, and *state* a copy of its state: a stage can have changed that of
    the message itself.
    """
    columns: dict[str, Any] = {"stage": stage, "state": _moved_on(state, patch.state)}
    if patch.mail_from is not None:
        columns["mail_from"] = patch.mail_from
    if patch.recipients is not None:
        columns["recipients"] = tuple(patch.recipients)
    header_block, body = message.header_block, message.body
    if patch.rewrites:
        if header_block is None or body is None:
            return None
        body = body if patch.body is None else patch.body
        if patch.header_block is not None:
            header_block = patch.header_block
            columns |= {"header_from": patch.header_from, "subject": patch.subject}
        columns["size"] = len(header_block) + len(body)
    columns["header_block"] = header_block if need >= Need.HEADERS else None
    columns["body"] = body if need >= Need.BODY else None
    return varied(message, **columns)


def copied(state: State) -> dict[str, Any]:
    """Return a copy of *state*: what is done to one, at whatever depth, is not seen in the other."""
    return {key: value if isinstance(value, _SCALARS) else _copy(value) for key, value in state.items()}


def _moved_on(state: State, patch: State) -> dict[str, Any]:
    """Return a copy of *state* as the database has it once *patch* is written, at another stage."""
    if not state and not patch:
        return {}
    found = copied(state)
    for key in CLEARED_BY_ADVANCE:
        found.pop(key, None)
    if not patch:
        return found
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _copy(value)
    return {key: found[key] for key in sorted(found, key=checked.order)}


def _copy(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _copy(item) for key, item in value.items()}
        case list():
            return [_copy(item) for item in value]
        case _:
            return value


def _field(header_block: bytes | None, name: bytes) -> str | None:
    if header_block is None:
        return None
    # Imported here: it costs a tenth of a worker's start, and few stages rewrite headers.
    from pepsi.model.headers import shown_field

    return shown_field(header_block, name)
