"""A message on its way out over SMTP. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pepsi.model.message import Message
from pepsi.model.row import SMTP
from pepsi.relay.addresses import mailboxes

_BARE = re.compile(rb"\r(?!\n)|(?<!\r)\n")
_ANY_END = re.compile(rb"\r\n|\r|\n")

_XTEXT = r"(?:[!-*,-<>-~]|\+[0-9A-F]{2})"
_ENVID = re.compile(rf"{_XTEXT}{{1,100}}")
_ORCPT = re.compile(rf"[A-Za-z0-9-]{{1,32}};{_XTEXT}{{1,440}}")
_NOTIFY = re.compile(r"NEVER|(?:SUCCESS|FAILURE|DELAY)(?:,(?:SUCCESS|FAILURE|DELAY)){0,2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DsnWishes:
    """What the sender asked about notices (RFC 3461), each value fit to be sent. Empty: not asked."""

    ret: str = ""
    envid: str = ""
    notify: Mapping[str, str] = field(default_factory=dict)
    orcpt: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One message with its envelope; no recipient stands in it twice.

    *data* is in CRLF form and ends with CRLF. *eight_bit*: it holds octets above 127. *utf8_header*: its header does,
    and it came to us as an internationalised message (RFC 6531).
    """

    sender: str
    recipients: tuple[str, ...]
    data: bytes
    eight_bit: bool = False
    utf8_header: bool = False
    dsn: DsnWishes = field(default_factory=DsnWishes)


def letter_of(message: Message) -> Letter:
    """Return *message*, loaded with its body, as it is to be sent."""
    header_block, body = message.header_block or b"", message.body or b""
    smtp = message.state.get(SMTP)
    return Letter(
        sender=message.mail_from,
        recipients=mailboxes(message.recipients),
        data=in_crlf_form(header_block + body),
        eight_bit=not (header_block.isascii() and body.isascii()),
        utf8_header=isinstance(smtp, Mapping) and bool(smtp.get("smtputf8")) and not header_block.isascii(),
        dsn=dsn_wishes(smtp),
    )


def in_crlf_form(message: bytes) -> bytes:
    """Return *message* with every line ended by CRLF, the last one too.

    A bare CR or LF counts as the end of a line. Sent as it is, it would be one to some hosts and none to others, and
    a dot after it could end the message early.
    """
    if _BARE.search(message):
        message = _ANY_END.sub(b"\r\n", message)
    return message if message.endswith(b"\r\n") or not message else message + b"\r\n"


def dot_stuffed(data: bytes) -> bytes:
    """Return *data*, which is in CRLF form, with the dot that starts a line doubled (RFC 5321, section 4.5.2)."""
    stuffed = data.replace(b"\r\n.", b"\r\n..")
    return b"." + stuffed if stuffed.startswith(b".") else stuffed


def dsn_wishes(smtp: Any) -> DsnWishes:
    """Read the ``smtp`` part of a row's state. What does not have the form that RFC 3461 asks for is left out."""
    if not isinstance(smtp, Mapping):
        return DsnWishes()
    ret = _matching(smtp.get("ret"), re.compile(r"FULL|HDRS", re.IGNORECASE))
    return DsnWishes(
        ret=ret.upper(),
        envid=_matching(smtp.get("envid"), _ENVID),
        notify=_by_recipient(smtp.get("notify"), _NOTIFY),
        orcpt=_by_recipient(smtp.get("orcpt"), _ORCPT),
    )


def _matching(value: Any, form: re.Pattern[str]) -> str:
    return value if isinstance(value, str) and form.fullmatch(value) else ""


def _by_recipient(values: Any, form: re.Pattern[str]) -> dict[str, str]:
    if not isinstance(values, Mapping):
        return {}
    return {key: value for key, value in values.items() if _matching(value, form)}
