"""A message on its way in: what the SMTP door or a tool hands to the queue."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HEADER_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A complete message with its envelope. *message* is the whole of it in CRLF form."""

    mail_from: str
    recipients: tuple[str, ...]
    message: bytes
    peer: str | None = None
    auth_login: str | None = None
    state: Mapping[str, Any] = field(default_factory=dict)


def split_message(message: bytes) -> tuple[bytes, bytes]:
    """Return header block and body of *message*; joined again they are the message byte for byte."""
    cut = header_size(message)
    return message[:cut], message[cut:]


def header_size(message: bytes) -> int:
    """Return how many bytes the header block of *message* has.

    It ends with the first empty line, which belongs to it. A message without one is all header block; a message that
    begins with an empty line has just that line for a header block.
    """
    if message.startswith(b"\r\n"):
        return 2
    end = message.find(HEADER_END)
    return len(message) if end < 0 else end + len(HEADER_END)
