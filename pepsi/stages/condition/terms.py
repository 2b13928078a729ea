"""What a condition speaks of: the fields of a message, and values written out."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pepsi.model.message import Message

Scalar = str | int | float | bool | None
Value = Scalar | Sequence["Value"] | Mapping[str, "Value"]


class Type(enum.Enum):
    """What is known of a term before any message is seen."""

    TEXT = "a text"
    NUMBER = "a number"
    TRUTH = "true or false"
    LIST = "a list"
    ANY = "of any type"

    def fits(self, *wanted: "Type") -> bool:
        """Whether a term of this type may turn out to be one of *wanted*."""
        return self is Type.ANY or self in wanted


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the message."""

    name: str
    type: Type
    read: Callable[[Message], Value]

    def value(self, message: Message) -> Value:
        """Return what *message* has there."""
        return self.read(message)


@dataclass(frozen=True, slots=True)
class StateKey:
    """A key of the message's state, or one further inside. It has no value where the path leads nowhere."""

    path: tuple[str, ...]

    @property
    def name(self) -> str:
        """The key as written."""
        return ".".join(("state", *self.path))

    @property
    def type(self) -> Type:
        """State holds whatever stages put there."""
        return Type.ANY

    def value(self, message: Message) -> Value:
        """Return what *message* has there, None for nothing."""
        inside: Value = message.state
        for key in self.path:
            if not isinstance(inside, Mapping):
                return None
            inside = inside.get(key)
        return inside


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written out."""

    literal: Value
    type: Type

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return self.type.value

    def value(self, message: Message) -> Value:
        """Return the same for every *message*."""
        return self.literal


Term = Field | StateKey | Literal


def domain(address: str) -> str:
    """Return the domain of *address* in lower case, '' if it has none."""
    return address.rpartition("@")[2].lower() if "@" in address else ""


FIELDS: Mapping[str, Field] = {
    field.name: field
    for field in (
        Field("mail_from", Type.TEXT, lambda m: m.mail_from),
        Field("sender_domain", Type.TEXT, lambda m: domain(m.mail_from)),
        Field("recipients", Type.LIST, lambda m: m.recipients),
        Field("recipient_domains", Type.LIST, lambda m: tuple(domain(r) for r in m.recipients)),
        Field("header_from", Type.TEXT, lambda m: m.header_from),
        Field("subject", Type.TEXT, lambda m: m.subject),
        Field("size", Type.NUMBER, lambda m: m.size),
        Field("peer", Type.TEXT, lambda m: m.peer or ""),
        Field("auth_login", Type.TEXT, lambda m: m.auth_login or ""),
    )
}
