"""What the door says. Pure (RFC 5321, section 4.2; enhanced status codes of RFC 3463 and the IANA registry)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pepsi import __version__

TEXT_LIMIT = 400
"""Characters of one line's text that are sent: with code and line end it stays under the 512 of RFC 5321."""

_UNPRINTABLE = re.compile(r"[^ -~]")


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: its code, and all of it as it is sent. After one that *closes* the session is over."""

    code: int
    wire: bytes
    closes: bool = False

    @property
    def refuses(self) -> bool:
        """Whether the command was not carried out."""
        return self.code >= 400

    def __str__(self) -> str:
        return " / ".join(self.wire.decode("ascii").splitlines())


def reply(code: int, text: str, *, closes: bool = False) -> Reply:
    """Return an answer of one line. Whatever *text* holds, it stays one line of printable ASCII."""
    return Reply(code, b"%d %s\r\n" % (code, _printable(text)), closes)


def greeting(hostname: str) -> Reply:
    """Return the first thing that a client hears."""
    return reply(220, f"{hostname} ESMTP Pepsi")


def hello(hostname: str, keywords: Sequence[str] = ()) -> Reply:
    """Return the answer to EHLO with its *keywords*, or without any the one to HELO."""
    *lines, last = (hostname, *keywords)
    return Reply(250, b"".join(b"250-%s\r\n" % _printable(line) for line in lines) + b"250 %s\r\n" % _printable(last))


def queued(number: int) -> Reply:
    """Return the answer to a message that is safe under the id *number*."""
    return Reply(250, b"250 2.0.0 queued as %d\r\n" % number)


def challenge(text: bytes) -> Reply:
    """Return a step of an authentication; *text* is base64 (RFC 4954)."""
    return Reply(334, b"334 %s\r\n" % text)


def _printable(text: str) -> bytes:
    return _UNPRINTABLE.sub("?", text[:TEXT_LIMIT]).encode("ascii")


OK = reply(250, "2.0.0 ok")
SENDER_OK = reply(250, "2.1.0 sender ok")
RECIPIENT_OK = reply(250, "2.1.5 recipient ok")
GOODBYE = reply(221, "2.0.0 goodbye", closes=True)
HELP = reply(214, f"2.0.0 this is Pepsi {__version__}; RFC 5321 has the commands")
NOT_VERIFIED = reply(252, "2.1.5 cannot say, but will take mail for it and try")
GO_AHEAD = reply(354, "end with a dot on a line of its own")

START_TLS = reply(220, "2.0.0 ready for TLS")
NOT_SO_FAST = reply(503, "5.5.1 nothing may follow STARTTLS before the handshake", closes=True)
NO_TLS = reply(502, "5.5.1 TLS is not available here")
TLS_ALREADY = reply(503, "5.5.1 TLS is in use already")

AUTHENTICATED = reply(235, "2.7.0 authenticated")
BAD_CREDENTIALS = reply(535, "5.7.8 wrong login or password")
BAD_CREDENTIALS_AGAIN = reply(421, "4.7.0 too many wrong passwords", closes=True)
AUTH_ABORTED = reply(501, "5.7.0 authentication cancelled")
AUTH_ALREADY = reply(503, "5.5.1 already authenticated")
AUTH_LATE = reply(503, "5.5.1 AUTH not allowed during a mail transaction")
AUTH_LONG = reply(500, "5.5.6 authentication exchange line too long", closes=True)
AUTH_MECHANISM = reply(504, "5.5.4 mechanism not known; use PLAIN or LOGIN")
AUTH_NEEDS_TLS = reply(538, "5.7.11 encryption required; use STARTTLS first")
AUTH_NOT_HERE = reply(502, "5.5.1 AUTH is not available here")
AUTH_SYNTAX = reply(501, "5.5.2 cannot decode the response; it must be base64")
AUTH_UNAVAILABLE = reply(454, "4.7.0 cannot check passwords now; try again later")

BAD_SEQUENCE = reply(503, "5.5.1 EHLO first")
NESTED_MAIL = reply(503, "5.5.1 a mail transaction is open already")
NEED_MAIL = reply(503, "5.5.1 MAIL first")
NEED_RECIPIENT = reply(503, "5.5.1 RCPT first")
NO_VALID_RECIPIENT = reply(554, "5.5.1 no valid recipients")

UNKNOWN_COMMAND = reply(500, "5.5.2 command not recognised")
NOT_IMPLEMENTED = reply(502, "5.5.1 command not implemented")
NO_ARGUMENT = reply(501, "5.5.4 the command takes no argument")
LINE_TOO_LONG = reply(500, "5.5.2 line too long", closes=True)
BAD_LINE = reply(500, "5.5.2 bare CR, bare LF or NUL in a command")
NOT_SMTP = reply(421, "4.7.0 this is not a web server", closes=True)
EARLY_TALKER = reply(554, "5.5.1 you spoke before the greeting", closes=True)

HELLO_SYNTAX = reply(501, "5.5.4 syntax: EHLO your.host.name")
MAIL_SYNTAX = reply(501, "5.5.4 syntax: MAIL FROM:<address>")
RCPT_SYNTAX = reply(501, "5.5.4 syntax: RCPT TO:<address>")
VRFY_SYNTAX = reply(501, "5.5.4 syntax: VRFY address")
AUTH_USAGE = reply(501, "5.5.4 syntax: AUTH mechanism [initial-response]")
BAD_SENDER = reply(501, "5.1.7 bad sender address syntax")
BAD_RECIPIENT = reply(501, "5.1.3 bad recipient address syntax")
SENDER_NEEDS_UTF8 = reply(553, "5.6.7 a sender address that is not ASCII needs SMTPUTF8")
RECIPIENT_NEEDS_UTF8 = reply(553, "5.6.7 a recipient address that is not ASCII needs SMTPUTF8")
BAD_PARAMETER = reply(501, "5.5.4 bad or repeated parameter")
UNKNOWN_PARAMETER = reply(555, "5.5.4 parameter not recognised")

RELAYING_DENIED = reply(554, "5.7.1 relaying denied")
TOO_MANY_RECIPIENTS = reply(452, "4.5.3 too many recipients; send the rest in another transaction")
TOO_LARGE = reply(552, "5.3.4 message too large")
BAD_CHARACTERS = reply(550, "5.6.11 bare CR, bare LF or NUL in the message")
LOOP = reply(554, "5.4.6 too many hops; the message loops")
NO_ROOM = reply(452, "4.3.1 too much mail at the moment; try again later")
NOT_STORED = reply(451, "4.3.0 cannot store mail at the moment; try again later")
LOCAL_ERROR = reply(421, "4.3.0 local error; try again later", closes=True)

TOO_MANY_ERRORS = reply(421, "4.7.0 too many errors", closes=True)
TOO_MANY_SESSIONS = reply(421, "4.3.2 too many sessions; try again later", closes=True)
TOO_MANY_FROM_PEER = reply(421, "4.7.0 too many sessions from you; try again later", closes=True)
TIMED_OUT = reply(421, "4.4.2 you took too long", closes=True)
STOPPING = reply(421, "4.3.2 going down; try again later", closes=True)
