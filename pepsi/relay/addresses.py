"""Envelope addresses on their way into a command of another program. Pure."""

import re
from collections.abc import Iterable

ADDRESS_LIMIT = 1000
"""Bytes of the longest address passed on; RFC 5321 asks for no more than 256."""

_PATH = re.compile(
    r"""(?:[^\x00-\x20\x7f-\x9f<>"\\]            # an atom's or a domain's character
         |"(?:[^\x00-\x1f\x7f-\x9f"\\]|\\[\x20-\x7e])*"   # a quoted string
        )+""",
    re.VERBOSE,
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def is_sendable(address: str) -> bool:
    """Whether *address* can stand between angle brackets: it cannot end the path, the line or the command early."""
    try:
        size = len(address.encode())
    except UnicodeEncodeError:
        return False
    return size <= ADDRESS_LIMIT and _PATH.fullmatch(address) is not None


def split_address(address: str) -> tuple[str, str]:
    """Return local part and domain of *address*; the domain is empty if there is none. Quotes are kept."""
    local, at, domain = address.rpartition("@")
    return (local, domain) if at else (address, "")


def unquoted(local: str) -> str:
    """Return the local part that *local* means: the same mailbox can be written with and without quotes."""
    found = _QUOTED.fullmatch(local)
    return _ESCAPED.sub(r"\1", found[1]) if found else local


def quoted(local: str) -> str:
    """Return *local* in its quoted form, the same mailbox in other letters."""
    if _QUOTED.fullmatch(local):
        return local
    return '"' + re.sub(r'(["\\])', r"\\\1", local) + '"'


def mailbox_key(address: str) -> str:
    """Return what tells two mailboxes apart: the local part as it is, the domain in lower case."""
    local, domain = split_address(address)
    return f"{unquoted(local)}@{domain.lower()}"


def mailboxes(recipients: Iterable[str]) -> tuple[str, ...]:
    """Return *recipients* without those that are the mailbox of one before."""
    found: dict[str, str] = {}
    for recipient in recipients:
        found.setdefault(mailbox_key(recipient), recipient)
    return tuple(found.values())
