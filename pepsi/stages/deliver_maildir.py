"""The stage ``deliver-maildir``: puts messages into Maildirs on this machine."""

import errno
import hashlib
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pepsi.model.row import INTERRUPTED, STRIKES, TEMPORARY_FAILURES
from pepsi.model.text import one_line
from pepsi.relay.addresses import mailbox_key
from pepsi.relay.answers import Answer, Verdict
from pepsi.stages.api import Message, Need, Options, Outcome, Stage, boolean, choice, path
from pepsi.stages.mailbox_path import MailboxPath, mailbox_path
from pepsi.stages.maildir import NoMailbox, mailbox, store
from pepsi.stages.results import conclude, time_for_message

_STATUS = {
    errno.ENOSPC: "4.3.1",
    errno.EDQUOT: "4.2.2",
    errno.EACCES: "4.2.1",
    errno.EPERM: "4.2.1",
}
"""RFC 3463 codes for what a file system says; 4.3.0 for all else."""

_MAYBE_AGAIN = (STRIKES, INTERRUPTED, TEMPORARY_FAILURES)
"""State of a message that may have been delivered before without anybody taking note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverMaildirOptions(Options):
    """The keys of the stage ``deliver-maildir``."""

    directory: Path = path(  # noqa: RUF009
        required=True, doc="The directory below which all mailboxes are. It must exist."
    )
    mailbox: MailboxPath = mailbox_path(  # noqa: RUF009
        "{domain}/{local_part}", doc="Where below DIRECTORY a recipient's Maildir is."
    )
    create: bool = boolean(
        "no", doc="Whether a Maildir that is not there is made. Otherwise the recipient is refused as unknown."
    )
    trace_headers: bool = boolean(
        "yes",
        doc="Whether Return-Path and Delivered-To, the envelope's addresses, are put before the message.",
        per_address=True,
    )
    line_ends: str = choice("crlf", choices=("crlf", "lf"), doc="How lines end in the files.", per_address=True)


class DeliverMaildir(Stage[DeliverMaildirOptions]):
    """Writes one file for each recipient into that recipient's Maildir.

    A file is on the disk before it appears under new/, and has the same name if a message is delivered again because a
    crash made that unclear: it does not double. Who has no mailbox is refused; trouble with the disk means another try.
    """

    name = "deliver-maildir"
    needs = Need.BODY
    Options = DeliverMaildirOptions
    acts_outside = True

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._host = ""

    def open(self, options: DeliverMaildirOptions) -> None:
        """See whether DIRECTORY is there. Raises OSError if not."""
        try:
            os.scandir(options.directory).close()
        except OSError as error:
            raise OSError(f"DIRECTORY = {options.directory}: {error.strerror}; make it, or let us read it") from error
        self._host = socket.gethostname().replace("/", r"\057").replace(":", r"\072")

    def process(self, message: Message, options: DeliverMaildirOptions) -> Outcome:
        """Deliver to each recipient; what could not be done for one does not keep the message from the others."""
        until = self._clock() + time_for_message(options)
        answers = {}
        for recipient in message.recipients:
            if self._clock() < until:
                answers[recipient] = self._deliver(message, options, recipient)
            else:
                answers[recipient] = Answer(verdict=Verdict.RETRY, status="4.3.0", detail="no time was left for it")
        return conclude(message, options, answers)

    def _deliver(self, message: Message, options: DeliverMaildirOptions, recipient: str) -> Answer:
        parts = options.mailbox.of(recipient)
        if parts is None:
            detail = f"the address lacks a part that MAILBOX = {options.mailbox} asks for"
            return Answer(verdict=Verdict.REFUSED, status="5.1.3", detail=detail)
        again = any(message.state.get(key) for key in _MAYBE_AGAIN)
        try:
            with mailbox(options.directory, parts, create=options.create) as directory:
                attempt = f"{message.claim}.{os.getpid()}"
                store(
                    directory, self._name(message, recipient), attempt, _file(message, options, recipient), again=again
                )
        except NoMailbox:
            detail = f"there is no {options.directory.joinpath(*parts)}"
            return Answer(verdict=Verdict.REFUSED, status="5.1.1", detail=detail)
        except OSError as error:
            detail = f"{options.directory.joinpath(*parts)}: {error.strerror or error}"
            if error.errno == errno.ENAMETOOLONG:
                return Answer(verdict=Verdict.REFUSED, status="5.1.3", detail=detail)
            return Answer(verdict=Verdict.RETRY, status=_STATUS.get(error.errno or 0, "4.3.0"), detail=detail)
        return Answer(verdict=Verdict.DELIVERED, status="2.0.0")

    def _name(self, message: Message, recipient: str) -> str:
        """Return the file's name. It depends on nothing that a second delivery of the same row would do otherwise.

        The time of arrival keeps the rows of an earlier database apart, whose numbers began at one as well.
        """
        arrived = message.received_at
        whose = hashlib.sha256(f"{message.stage}\0{mailbox_key(recipient)}".encode()).hexdigest()[:16]
        when = f"{int(arrived.timestamp())}.M{arrived.microsecond:06}"
        return f"{when}P{message.workqueue_id}R{whose}.{self._host}"


def _file(message: Message, options: DeliverMaildirOptions, recipient: str) -> bytes:
    content = (message.header_block or b"") + (message.body or b"")
    if options.trace_headers:
        trace = f"Return-Path: <{one_line(message.mail_from)}>\r\nDelivered-To: {one_line(recipient)}\r\n"
        content = trace.encode() + content
    return content.replace(b"\r\n", b"\n") if options.line_ends == "lf" else content
