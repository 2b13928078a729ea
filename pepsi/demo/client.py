"""Sends samples as any mail program would: over SMTP, blocking. The demo runs it in a thread."""

import re
import smtplib
from collections.abc import Callable, Iterable

from pepsi.demo.samples import Sample
from pepsi.errors import PepsiError

PATIENCE = 60.0
"""Seconds without an answer after which the client gives up."""

_QUEUED = re.compile(rb"queued as (\d+)")


class NotTaken(PepsiError):
    """The server could not be reached, or refused a sample."""


def send(host: str, port: int, samples: Iterable[Sample], told: Callable[[int, Sample], None]) -> None:
    """Send *samples* in one session; call *told* with the queue's id and the sample as soon as each was accepted.

    Raises NotTaken at the first sample that is not accepted.
    """
    try:
        with smtplib.SMTP(host, port, timeout=PATIENCE) as session:
            session.ehlo_or_helo_if_needed()
            for sample in samples:
                told(_send(session, sample), sample)
    except (OSError, smtplib.SMTPException) as error:
        raise NotTaken(f"mail cannot be sent to {host}:{port}: {error}") from error


def _send(session: smtplib.SMTP, sample: Sample) -> int:
    # Not sendmail: it drops the last answer, and with it the id that the message is known by.
    options = [f"SIZE={len(sample.message)}"]
    if sample.eight_bit:
        options.append("BODY=8BITMIME")
    if sample.utf8:
        options.append("SMTPUTF8")
    _accepted(sample, session.mail(sample.mail_from, options))
    for recipient in sample.recipients:
        _accepted(sample, session.rcpt(recipient))
    answer = _accepted(sample, session.data(sample.message))
    number = _QUEUED.search(answer)
    if number is None:
        raise NotTaken(f"the answer to the sample {sample.name} names no id: {answer!r}; is that Pepsi?")
    return int(number[1])


def _accepted(sample: Sample, answer: tuple[int, bytes]) -> bytes:
    code, text = answer
    if code != 250:
        raise NotTaken(f"the sample {sample.name} was refused: {code} {text.decode(errors='replace')}")
    return text
