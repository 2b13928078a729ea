"""The messages that the demo sends, and what is to become of each in the demo's pipeline."""

import base64
import enum
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources

from pepsi.demo import corpus
from pepsi.relay.letter import in_crlf_form

LARGE_SIZE = 4 * 2**20
"""Bytes of what is attached to the large message."""

ALICE = "alice@elsewhere.example"
BOB = "bob@pepsi.example"
CAROL = "carol@pepsi.example"
DAVE = "dave@elsewhere.example"


class Fate(enum.Enum):
    """Where a sample comes out of the pipeline."""

    MAILBOX = "mailbox"
    RELAYED = "relayed"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One message in CRLF form with its envelope."""

    name: str
    mail_from: str
    recipients: tuple[str, ...]
    message: bytes
    fate: Fate

    @property
    def eight_bit(self) -> bool:
        """Whether it holds octets above 127 (RFC 6152)."""
        return not self.message.isascii()

    @property
    def utf8(self) -> bool:
        """Whether an address in its envelope is not ASCII, so that it needs SMTPUTF8 (RFC 6531)."""
        return not all(address.isascii() for address in (self.mail_from, *self.recipients))


_ENVELOPES = (
    ("plain", ALICE, (BOB,), Fate.MAILBOX),
    ("attachment", ALICE, (BOB, CAROL), Fate.MAILBOX),
    ("latin-1", "juergen@elsewhere.example", (BOB,), Fate.MAILBOX),
    ("utf-8", "sarlota@pepsi.example", ("dmitri@elsewhere.example",), Fate.RELAYED),
    ("international", "jürgen@bücher.example", ("李雷@例子.example",), Fate.RELAYED),
    ("dots", ALICE, (DAVE,), Fate.RELAYED),
    ("broken", ALICE, (BOB,), Fate.MAILBOX),
    ("unwanted", "winner@elsewhere.example", ("nobody@pepsi.example",), Fate.DISCARDED),
)
"""The stored messages: name of the file, sender, recipients, what becomes of it."""


def samples(most_of_python: int = 8) -> tuple[Sample, ...]:
    """Return all samples in the order in which they are sent: ours, and up to so many of Python's own."""
    found = corpus.of_python()[:most_of_python]
    return (*_stored(), _large(), *(_of_python(number, mail) for number, mail in enumerate(found)))


def due(sent: Iterable[Sample], fate: Fate) -> dict[str, tuple[bytes, int]]:
    """Return the messages of *sent* that come out at *fate*, by name, each with the number of its copies.

    A mailbox gets a copy for each recipient, a relayed message names them all.
    """
    return {
        sample.name: (sample.message, len(sample.recipients) if fate is Fate.MAILBOX else 1)
        for sample in sent
        if sample.fate is fate
    }


def _stored() -> Iterator[Sample]:
    folder = resources.files("pepsi.demo") / "mail"
    for name, mail_from, recipients, fate in _ENVELOPES:
        message = in_crlf_form((folder / f"{name}.eml").read_bytes())
        yield Sample(name=name, mail_from=mail_from, recipients=recipients, message=message, fate=fate)


def _large() -> Sample:
    return Sample(
        name="large",
        mail_from=CAROL,
        recipients=(DAVE,),
        message=large_message(LARGE_SIZE),
        fate=Fate.RELAYED,
    )


def _of_python(number: int, mail: corpus.Mail) -> Sample:
    recipient, fate = ((DAVE, Fate.RELAYED), (BOB, Fate.MAILBOX))[number % 2]
    return Sample(name=f"python-{mail.name}", mail_from=ALICE, recipients=(recipient,), message=mail.message, fate=fate)


def large_message(size: int) -> bytes:
    """Return a message with *size* bytes attached that look random and are the same each time."""
    blocks = (hashlib.sha256(b"%d" % number).digest() for number in range(-(-size // 32)))
    attached = base64.encodebytes(b"".join(blocks)[:size])
    return in_crlf_form(_LARGE_HEAD + attached + _LARGE_TAIL)


_LARGE_HEAD = b"""\
From: Carol Example <carol@pepsi.example>
To: Dave Example <dave@elsewhere.example>
Subject: All the photographs
Date: Mon, 05 Jan 2026 14:00:00 +0100
Message-ID: <large.1@pepsi.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_large"

--=_large
Content-Type: text/plain; charset=us-ascii

Sorry, it is a big one.

--=_large
Content-Type: application/octet-stream
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename="photographs.bin"

"""
_LARGE_TAIL = b"\n--=_large--\n"
