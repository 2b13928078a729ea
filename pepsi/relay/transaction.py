"""One mail transaction: MAIL, RCPT for each recipient, DATA, the message (RFC 5321, section 3.3; RFC 2920)."""

from collections.abc import Sequence

from pepsi.relay.answers import Answer, Verdict, from_fault, from_reply
from pepsi.relay.commands import DATA, RSET, mail, rcpt
from pepsi.relay.faults import LinkError
from pepsi.relay.letter import Letter, dot_stuffed
from pepsi.relay.replies import GO_AHEAD, Reply
from pepsi.relay.session import Session

_TOO_MANY = frozenset({(452, "4.5.3"), (452, "4.0.0"), (552, "5.5.3"), (552, "5.0.0")})
"""Replies to RCPT that mean "not so many at once"; 552 is the older one (RFC 5321, section 4.5.3.1.10)."""


class Transaction:
    """Offers one letter to one host for some of its recipients, once.

    After ``run`` each of them has its answer in *answers*. *surplus* are those that the host only found too many:
    another transaction can have them at once. *began* tells whether the host has answered MAIL. *fault* is what broke
    the session, if something did.
    """

    def __init__(self, session: Session, letter: Letter, recipients: Sequence[str]) -> None:
        self.answers: dict[str, Answer] = {}
        self.surplus: list[str] = []
        self.began = False
        self.fault: LinkError | None = None
        self._session = session
        self._letter = letter
        self._recipients = recipients
        self._accepted: list[str] = []

    @property
    def delivered(self) -> bool:
        """Whether the host took the message for anybody."""
        return any(answer.verdict is Verdict.DELIVERED for answer in self.answers.values())

    def run(self) -> None:
        """Carry the transaction through. Raises nothing that the host could cause."""
        session = self._session
        if not self._recipients:
            return
        try:
            if session.dirty:
                self._reset()
            go_ahead = self._envelope()
            if go_ahead is not None:
                self._message(go_ahead)
        except LinkError as fault:
            session.usable = False
            self.fault = fault
            self._settle(self._recipients, from_fault(fault, session.host.name))

    def _settle(self, recipients: Sequence[str], answer: Answer) -> None:
        """Give *answer* to those of *recipients* that have none yet."""
        for recipient in recipients:
            self.answers.setdefault(recipient, answer)

    def _reset(self) -> None:
        reply = self._session.ask(RSET)
        if reply.code // 100 != 2:
            raise LinkError(f"RSET was refused: {reply}", status="4.5.0")
        self._session.dirty = False

    def _envelope(self) -> Reply | None:
        """Send the envelope; return the reply to DATA, or None if there is nobody to send the message to."""
        session, letter = self._session, self._letter
        lines = [mail(letter, session.extensions)]
        lines += [rcpt(recipient, letter, session.extensions) for recipient in self._recipients]
        ahead = "PIPELINING" in session.extensions
        if ahead:
            session.channel.write(b"".join(lines) + DATA, session.host.timeouts.command)

        def ask(line: bytes) -> Reply:
            return session.hear() if ahead else session.ask(line)

        willing = self._mail_answered(ask(lines[0]))
        if willing or ahead:
            for recipient, line in zip(self._recipients, lines[1:], strict=True):
                self._rcpt_answered(recipient, ask(line))
        if self._accepted or ahead:
            reply = ask(DATA)
            if self._accepted:
                return reply
            if reply.code == GO_AHEAD:
                # The only way out that cannot deliver an empty message to somebody is to go.
                session.usable = False
        return None

    def _mail_answered(self, reply: Reply) -> bool:
        self.began = True
        answer = from_reply(reply, self._session.host.name)
        if answer.verdict is Verdict.DELIVERED:
            self._session.dirty = True
            return True
        self._settle(self._recipients, answer)
        return False

    def _rcpt_answered(self, recipient: str, reply: Reply) -> None:
        if recipient in self.answers:  # MAIL was refused, so this reply says nothing new
            return
        answer = from_reply(reply, self._session.host.name)
        if answer.verdict is Verdict.DELIVERED:
            self._accepted.append(recipient)
        elif (reply.code, reply.status) in _TOO_MANY:
            self.surplus.append(recipient)
            later = Answer(verdict=Verdict.RETRY, status="4.5.3", reply=answer.reply, host=answer.host)
            self._settle([recipient], later)
        else:
            self._settle([recipient], answer)

    def _message(self, go_ahead: Reply) -> None:
        session = self._session
        if go_ahead.code != GO_AHEAD:
            answer = from_reply(go_ahead, session.host.name)
            if answer.verdict is Verdict.DELIVERED:
                raise LinkError(f"unexpected reply to DATA: {go_ahead}", status="4.5.0")
            self._settle(self._accepted, answer)
            return
        reply = self._sent()
        answer = from_reply(reply, session.host.name)
        self._settle(self._accepted, answer)
        session.dirty = False

    def _sent(self) -> Reply:
        """Send the message and return the reply to it."""
        channel, timeouts = self._session.channel, self._session.host.timeouts
        try:
            channel.write(dot_stuffed(self._letter.data) + b".\r\n", timeouts.block)
        except LinkError as fault:
            return self._interruption(fault)
        channel.until += timeouts.final
        try:
            return self._session.hear(timeouts.final)
        except LinkError as fault:
            if fault.reply is not None:
                raise
            raise LinkError(
                f"{fault} after the whole message was sent; it may have been accepted", status="4.4.2"
            ) from fault

    def _interruption(self, fault: LinkError) -> Reply:
        """Return the refusal with which the host cut the message short. Raises *fault* if there is none to be read."""
        self._session.usable = False
        try:
            reply = self._session.channel.reply(1.0)
        except LinkError:
            raise fault from None
        if reply.code // 100 in (4, 5):
            return reply
        raise fault
