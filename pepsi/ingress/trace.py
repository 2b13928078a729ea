"""The Received field (RFC 5321, section 4.4; "with" of RFC 3848 and 6531), and counting those that are there. Pure.

A client chooses the name it says hello with, and the field goes to hosts that read it: nothing but letters, digits and
the marks of a host name or address literal gets into it.
"""

import email.utils
import functools
import re
from datetime import UTC, datetime

HOPS_WITHIN = 2**20
"""Bytes of a header that are searched for Received fields. Each host adds its own at the top."""
NAME_LIMIT = 255

_UNFIT = re.compile(r"[^A-Za-z0-9.:_\[\]-]")
_UNFIT_COMMENT = re.compile(r"[^A-Za-z0-9.:_\[\] -]")


def received_field(
    *, hello: str, origin: str, hostname: str, protocol: str, trace_id: str, recipient: str, now: float
) -> bytes:
    """Return the field with its line end.

    *origin* is what we know of the client ourselves, *recipient* the only recipient or empty, *now* in seconds since
    1970.
    """
    name = _UNFIT.sub("?", hello)[:NAME_LIMIT] or "unknown"
    comment = _UNFIT_COMMENT.sub("?", origin)[:NAME_LIMIT]
    purpose = f"\r\n\tfor <{recipient}>" if recipient else ""
    lines = (
        f"Received: from {name} ({comment})",
        f"by {hostname} with {protocol} id {trace_id}{purpose};",
        f"{_date(int(now))}\r\n",
    )
    return "\r\n\t".join(lines).encode()


def protocol_name(*, extended: bool, tls: bool, authenticated: bool, utf8: bool) -> str:
    """Return the word for how a message was sent."""
    if not extended:
        return "SMTP"
    return ("UTF8SMTP" if utf8 else "ESMTP") + ("S" if tls else "") + ("A" if authenticated else "")


def count_hops(message: bytes) -> int:
    """Return how many Received fields the header of *message* has."""
    header = message[: _header_end(message)].lower()
    return header.count(b"\nreceived:") + header.startswith(b"received:")


@functools.lru_cache(maxsize=1)
def _date(second: int) -> str:
    return email.utils.format_datetime(datetime.fromtimestamp(second, UTC))


def _header_end(message: bytes) -> int:
    if message.startswith(b"\r\n"):
        return 0
    end = message.find(b"\r\n\r\n", 0, HOPS_WITHIN)
    return HOPS_WITHIN if end < 0 else end
