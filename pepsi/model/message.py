"""A message as a stage sees it: what was loaded of its row."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any

from pepsi.model.settings import NOTHING_SET, Settings

State = Mapping[str, Any]
"""A ``state`` document, or a patch of one: a JSON object."""


class Need(enum.IntEnum):
    """How much of a row a stage must load. Each includes the ones before it."""

    METADATA = 0
    HEADERS = 1
    BODY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One loaded row.

    *header_block* is everything up to and including the empty line that ends the header section (all of the message if
    it has none), *body* the rest, so that ``header_block + body`` is the message byte for byte, in CRLF form.
    Either is None when the stage did not ask for it. *age* is in seconds, by the database's clock. *settings* is what
    its correspondents have set: the options that a stage is given have it in them already.
    """

    workqueue_id: int
    claim: int
    stage: str
    received_at: datetime
    age: float
    mail_from: str
    recipients: tuple[str, ...]
    header_from: str = ""
    subject: str = ""
    peer: str | None = None
    auth_login: str | None = None
    size: int = 0
    state: State = field(default_factory=dict)
    header_block: bytes | None = None
    body: bytes | None = None
    settings: Settings = field(default=NOTHING_SET, repr=False, compare=False)


_values = attrgetter(*Message.__slots__)
_setters = tuple(getattr(Message, name).__set__ for name in Message.__slots__)


def varied(message: Message, **columns: Any) -> Message:
    """Return *message* with other *columns*. As ``dataclasses.replace``, which takes twice as long."""
    made = object.__new__(Message)
    for put, value in zip(_setters, _values(message), strict=True):
        put(made, value)
    for name, value in columns.items():
        object.__setattr__(made, name, value)
    return made
