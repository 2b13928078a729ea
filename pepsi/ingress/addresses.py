"""Paths of MAIL and RCPT. Pure (RFC 5321, section 4.1.2; RFC 6531).

A path is read more kindly than the grammar in one point: dots may stand anywhere in a local part, since real mailboxes
have them at the ends and in pairs. Everything read can be written between angle brackets again.
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass

LOCAL_LIMIT = 256
DOMAIN_LIMIT = 255
"""Bytes, in UTF-8. RFC 5321 grants a local part only 64, which the return paths of mailing lists exceed."""

_WIDE = "\x80-\U0010ffff"
_ATOM = rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~.{_WIDE}-]"
_QUOTED = rf'"(?:[ !#-\[\]-~{_WIDE}]|\\[ -~])*"'
_PATH = re.compile(
    rf"<(?:(?:@[^@,:<>\"\s]+)(?:,@[^@,:<>\"\s]+)*:)?({_ATOM}+|{_QUOTED})@(\[[A-Za-z0-9.:-]+\]|[A-Za-z0-9._{_WIDE}-]+)>"
)
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")
_POSTMASTER = re.compile(r"<postmaster>", re.IGNORECASE)
_DOT_ATOM = re.compile(rf"{_ATOM}+")
_ESCAPED = re.compile(r"\\(.)")
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
_UNFIT = ("Cc", "Cf", "Cs", "Zl", "Zp")
_LABEL_ALSO = f"-_{_JOINERS}\u00b7\u0375\u05f3\u05f4\u30fb"
"""What a label may hold beside letters, marks and digits (RFC 5892)."""


@dataclass(frozen=True, slots=True)
class Address:
    """A mailbox. *local* is quoted only where it must be. The domain is empty for the bare postmaster alone."""

    local: str
    domain: str

    def __str__(self) -> str:
        return f"{self.local}@{self.domain}" if self.domain else self.local

    @property
    def is_ascii(self) -> bool:
        """Whether it can be sent to a host that knows nothing of SMTPUTF8."""
        return self.local.isascii() and self.domain.isascii()

    @property
    def mailbox(self) -> tuple[str, str]:
        """What tells two mailboxes apart: the domain in lower case, the local part as it is."""
        return self.local, self.domain.lower()


def read_path(text: str) -> tuple[Address, str] | None:
    """Read the path that *text* begins with. Returns its mailbox and what follows, or None if it is no path.

    Source routes are dropped. The null path is not a mailbox: the caller looks for it first.
    """
    found = _PATH.match(text)
    if found is None:
        return None
    local, domain = _plain(found[1]), found[2]
    if len(local.encode()) > LOCAL_LIMIT or not _is_domain(domain) or not (local.isascii() or _is_fit(local)):
        return None
    return Address(local, domain), text[found.end() :]


def read_postmaster(text: str) -> str | None:
    """Return what follows a postmaster without a domain, or None if that is not what *text* begins with."""
    found = _POSTMASTER.match(text)
    return text[found.end() :] if found else None


def _plain(local: str) -> str:
    """Return the one way to write the local part: without quotes if it can do without, with the fewest escapes else."""
    if not local.startswith('"'):
        return local
    content = _ESCAPED.sub(r"\1", local[1:-1])
    if _DOT_ATOM.fullmatch(content):
        return content
    return '"' + content.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _is_domain(domain: str) -> bool:
    if len(domain.encode()) > DOMAIN_LIMIT:
        return False
    if domain.startswith("["):
        return _is_literal(domain[1:-1])
    return all(_is_label(label) for label in domain.split("."))


def _is_label(label: str) -> bool:
    if label.isascii():
        return len(label) <= 63 and _LABEL.fullmatch(label) is not None
    if label.startswith("-") or label.endswith("-"):
        return False
    return all(char in _LABEL_ALSO or unicodedata.category(char)[0] in "LMN" for char in label)


def _is_literal(content: str) -> bool:
    tag, colon, address = content.partition(":")
    try:
        if not colon:
            ipaddress.IPv4Address(content)
        elif tag.lower() == "ipv6":
            ipaddress.IPv6Address(address)
        else:
            return False
    except ValueError:
        return False
    return True


def _is_fit(text: str) -> bool:
    """Whether no character of *text* is invisible, a control, or turns the direction of writing."""
    return all(char in _JOINERS or unicodedata.category(char) not in _UNFIT for char in text)
