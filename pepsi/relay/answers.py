"""What became of a message for one recipient. Pure."""

import enum
from dataclasses import dataclass

from pepsi.model.text import REASON_LIMIT, one_line
from pepsi.relay.faults import LinkError
from pepsi.relay.replies import CLOSING, Reply

OUR_FAULT = frozenset({503, 530, 534, 535, 538})
"""Refusals that speak of our own set-up (no or wrong authentication, commands out of order), not of the message."""


class Verdict(enum.Enum):
    """The three ends that an attempt has for a recipient."""

    DELIVERED = "delivered"
    RETRY = "retry"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result for one recipient.

    *status* is a code of RFC 3463. *reply* is what *host* said, and may be shown to the sender. *detail* is for the
    operator only: it can name files, programs and addresses of this side.
    """

    verdict: Verdict
    status: str
    reply: str = ""
    host: str = ""
    detail: str = ""

    @property
    def reason(self) -> str:
        """One line for the operator."""
        said = f"{self.host} said: {self.reply}" if self.reply and self.host else self.reply
        return one_line(": ".join(part for part in (self.detail, said) if part) or self.status, REASON_LIMIT)

    def as_state(self) -> dict[str, str]:
        """What of it goes into the row's ``deliveries``: nothing that a notice must not quote."""
        parts = {"status": self.status, "reply": self.reply, "host": self.host}
        return {key: value for key, value in parts.items() if value}


def verdict_of(reply: Reply) -> Verdict:
    """Return what *reply* to MAIL, RCPT, DATA or the message means. Raises LinkError if it fits none of them."""
    match reply.code // 100:
        case 2:
            return Verdict.DELIVERED
        case 4:
            return Verdict.RETRY
        case 5:
            return Verdict.RETRY if reply.code in OUR_FAULT else Verdict.REFUSED
    raise LinkError(f"unexpected reply: {reply}", status="4.5.0", reply=reply)


def from_reply(reply: Reply, host: str) -> Answer:
    """Return the answer that *reply* of *host* is."""
    verdict = verdict_of(reply)
    status = reply.status
    if verdict is Verdict.RETRY and status.startswith("5"):
        status = "4" + status[1:]
    return Answer(verdict=verdict, status=status, reply=str(reply), host=host)


def from_fault(fault: LinkError, host: str) -> Answer:
    """Return the answer for every recipient that *fault* left undecided: another try later."""
    if fault.reply is not None and fault.reply.code == CLOSING:
        return Answer(verdict=Verdict.RETRY, status=fault.reply.status, reply=str(fault.reply), host=host)
    said = "" if fault.reply is None else str(fault.reply)
    return Answer(verdict=Verdict.RETRY, status=fault.status, reply=said, host=host, detail=f"{host}: {fault}")


def refused(status: str, detail: str) -> Answer:
    """Return a refusal of our own, made before the host was asked."""
    return Answer(verdict=Verdict.REFUSED, status=status, detail=detail)
