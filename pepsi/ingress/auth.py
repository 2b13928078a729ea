"""The exchanges of AUTH PLAIN and AUTH LOGIN: lines in, challenges or credentials out. Pure (RFC 4954, RFC 4616)."""

import binascii
from dataclasses import dataclass, field

from pepsi.ingress import replies
from pepsi.ingress.replies import Reply

LINE_LIMIT = 12_288
"""Bytes of the longest line in an exchange, its end not counted (RFC 4954, section 4)."""
MECHANISMS = ("PLAIN", "LOGIN")

_USERNAME = b"VXNlcm5hbWU6"
_PASSWORD = b"UGFzc3dvcmQ6"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who a client says it is, to be checked."""

    login: str
    password: str = field(repr=False)


class Exchange:
    """One authentication under way. ``begin`` makes it; ``answer`` takes each line that the client sends then."""

    def __init__(self, mechanism: str) -> None:
        self._plain = mechanism == "PLAIN"
        self._login: str | None = None

    def challenge(self) -> Reply:
        """Return what to ask the client for first."""
        return replies.challenge(b"" if self._plain else _USERNAME)

    def answer(self, line: bytes) -> Reply | Credentials:
        """Take a response. Returns the next challenge, or the end: credentials, or the reason for failure."""
        if line == b"*":
            return replies.AUTH_ABORTED
        try:
            response = binascii.a2b_base64(line, strict_mode=True)
            return self._plain_response(response) if self._plain else self._login_response(response.decode("utf-8"))
        except UnicodeDecodeError:
            return replies.BAD_CREDENTIALS
        except ValueError:
            return replies.AUTH_SYNTAX

    def _plain_response(self, response: bytes) -> Reply | Credentials:
        parts = response.split(b"\0")
        if len(parts) != 3:
            return replies.AUTH_SYNTAX
        identity, login, password = (part.decode("utf-8") for part in parts)
        # Nobody may act for somebody else here.
        return Credentials(login, password) if identity in ("", login) else replies.BAD_CREDENTIALS

    def _login_response(self, response: str) -> Reply | Credentials:
        if self._login is None:
            self._login = response
            return replies.challenge(_PASSWORD)
        return Credentials(self._login, response)


def begin(argument: bytes) -> tuple[Exchange | None, Reply | Credentials]:
    """Read the argument of AUTH. Returns the exchange, if it goes on, and what is said or known first."""
    mechanism, _, initial = argument.partition(b" ")
    name = mechanism.decode("latin-1").upper()
    if not name or b" " in initial:
        return None, replies.AUTH_USAGE
    if name not in MECHANISMS:
        return None, replies.AUTH_MECHANISM
    exchange = Exchange(name)
    if not initial:
        return exchange, exchange.challenge()
    first = exchange.answer(b"" if initial == b"=" else initial)
    return (exchange if isinstance(first, Reply) and not first.refuses else None), first
