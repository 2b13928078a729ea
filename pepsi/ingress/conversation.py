"""One client's side of SMTP as a state machine: command lines in, answers out. Knows no transport and no clock."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pepsi.ingress import auth, replies, trace
from pepsi.ingress.acceptance import OVERSHOOT, Terms
from pepsi.ingress.addresses import Address
from pepsi.ingress.auth import Credentials, Exchange
from pepsi.ingress.budget import Budget
from pepsi.ingress.commands import Mail, Recipient, read_mail, read_recipient, split_line
from pepsi.ingress.dataphase import DataPhase, Flaw
from pepsi.ingress.peer import Peer
from pepsi.ingress.replies import Reply
from pepsi.model.envelope import Arrival
from pepsi.model.row import LOCAL_ORIGIN, SMTP

CHATTER_LIMIT = 100
"""Commands that get nowhere which a session may send between messages before they count as errors."""
PASSWORD_TRIES = 3

_FLAWS = {
    Flaw.CHARACTERS: replies.BAD_CHARACTERS,
    Flaw.SIZE: replies.TOO_LARGE,
    Flaw.MEMORY: replies.NO_ROOM,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What all conversations share: our names, and what is offered."""

    hostname: str
    postmaster: Address
    terms: Terms
    budget: Budget
    offers_tls: bool = False
    offers_auth: bool = False


@dataclass(slots=True)
class Transaction:
    """What MAIL and RCPT have said. *tried* counts all RCPT commands, *recipients* holds those that were taken."""

    mail: Mail
    recipients: dict[tuple[str, str], Recipient] = field(default_factory=dict)
    tried: int = 0


class Conversation:
    """What has been said in one session. *tls*: the connection is encrypted from its first byte."""

    def __init__(self, house: House, peer: Peer, *, tls: bool = False) -> None:
        self._house = house
        self._peer = peer
        self._trusted = house.terms.is_trusted(peer.address)
        self._password_failures = 0
        self._errors = 0
        self._chatter = 0
        self._begin(tls=tls)

    def _begin(self, *, tls: bool) -> None:
        self._tls = tls
        self._hello = ""
        self._extended = False
        self._login = self._peer.login
        self._authenticated = False
        self._exchange: Exchange | None = None
        self._transaction: Transaction | None = None

    @property
    def is_authenticating(self) -> bool:
        """Whether the next line is a response of an exchange and no command."""
        return self._exchange is not None

    @property
    def login(self) -> str | None:
        """Who the client is: by password, or by the kernel's word. None: unknown."""
        return self._login

    def answer(self, line: bytes) -> Reply | Credentials:
        """Take one line without its end. Returns the answer, or credentials for ``checked`` to be called about.

        After ``replies.GO_AHEAD`` the data follows, and its end is told to ``collected``; after ``replies.START_TLS``
        the handshake does, and ``secured`` is called.
        """
        if b"\n" in line or b"\r" in line or b"\0" in line:
            self._exchange = None
            return self._counted(replies.BAD_LINE)
        if self._exchange is not None:
            said = self._exchange.answer(line)
            if isinstance(said, Credentials) or said.refuses:
                self._exchange = None
        else:
            verb, argument = split_line(line)
            command = self._COMMANDS.get(verb)
            said = replies.UNKNOWN_COMMAND if command is None else command(self, argument)
        return said if isinstance(said, Credentials) else self._counted(said)

    def checked(self, login: str, *, right: bool) -> Reply:
        """Take the word of the password file about *login*, and return the answer."""
        if right:
            self._login = login
            self._authenticated = True
            return replies.AUTHENTICATED
        self._password_failures += 1
        if self._password_failures >= PASSWORD_TRIES:
            return replies.BAD_CREDENTIALS_AGAIN
        return self._counted(replies.BAD_CREDENTIALS)

    def secured(self) -> None:
        """The connection is encrypted from here on: all that was said before it is forgotten (RFC 3207)."""
        self._begin(tls=True)

    def collected(self, phase: DataPhase, trace_id: str, now: float) -> Arrival | Reply:
        """Take the end of the data: return the message for the store, or why it is refused. *now*: since 1970."""
        transaction, self._transaction = self._transaction, None
        if transaction is None:
            raise AssertionError("data without a transaction")
        if phase.flaw is not None:
            return self._counted(_FLAWS[phase.flaw])
        recipients = tuple(transaction.recipients.values())
        mail = transaction.mail
        received = trace.received_field(
            hello=self._hello,
            origin=self._peer.origin,
            hostname=self._house.hostname,
            protocol=trace.protocol_name(
                extended=self._extended,
                tls=self._tls,
                authenticated=self._authenticated,
                utf8="smtputf8" in mail.parameters,
            ),
            trace_id=trace_id,
            recipient=str(recipients[0].address) if len(recipients) == 1 else "",
            now=now,
        )
        message = phase.message(received)
        # Our own field is no hop yet.
        refusal = self._house.terms.refuse_hops(trace.count_hops(message) - 1)
        if refusal is not None:
            return self._counted(refusal)
        self._errors = 0
        self._chatter = 0
        return Arrival(
            mail_from="" if mail.sender is None else str(mail.sender),
            recipients=tuple(str(recipient.address) for recipient in recipients),
            message=message,
            peer=None if self._peer.address is None else str(self._peer.address),
            auth_login=self._login,
            state=self._state(mail, recipients),
        )

    def _state(self, mail: Mail, recipients: tuple[Recipient, ...]) -> dict[str, Any]:
        smtp: dict[str, Any] = dict(mail.parameters)
        for name in ("notify", "orcpt"):
            wishes = {str(each.address): wish for each in recipients if (wish := getattr(each, name))}
            if wishes:
                smtp[name] = wishes
        state: dict[str, Any] = {SMTP: smtp} if smtp else {}
        if self._login is not None:
            state[LOCAL_ORIGIN] = True
        return state

    def _counted(self, said: Reply) -> Reply:
        if said.refuses and not self._is_overshoot(said):
            self._errors += 1
            if self._errors >= self._house.terms.max_errors:
                return replies.TOO_MANY_ERRORS
        return said

    def _is_overshoot(self, said: Reply) -> bool:
        """Whether *said* is no error: a client with a long list goes on to its end, and learns from the answers."""
        return (
            said is replies.TOO_MANY_RECIPIENTS
            and self._transaction is not None
            and self._transaction.tried <= OVERSHOOT * self._house.terms.max_recipients
        )

    def _chat(self, said: Reply) -> Reply:
        self._chatter += 1
        if self._chatter > CHATTER_LIMIT:
            self._errors += 1
            if self._errors >= self._house.terms.max_errors:
                return replies.TOO_MANY_ERRORS
        return said

    def _ehlo(self, name: bytes) -> Reply:
        return self._greet(name, extended=True)

    def _helo(self, name: bytes) -> Reply:
        return self._greet(name, extended=False)

    def _greet(self, name: bytes, *, extended: bool) -> Reply:
        if not name:
            return replies.HELLO_SYNTAX
        self._hello = name.decode("latin-1")
        self._extended = extended
        self._transaction = None
        return self._chat(replies.hello(self._house.hostname, self._keywords() if extended else ()))

    def _keywords(self) -> list[str]:
        house = self._house
        keywords = ["PIPELINING", f"SIZE {house.terms.max_message_size}", "8BITMIME", "SMTPUTF8", "DSN"]
        keywords.append("ENHANCEDSTATUSCODES")
        if house.offers_tls and not self._tls:
            keywords.append("STARTTLS")
        if house.offers_auth and (self._tls or self._peer.is_local) and not self._authenticated:
            keywords.append(f"AUTH {' '.join(auth.MECHANISMS)}")
        return keywords

    def _mail(self, argument: bytes) -> Reply:
        if not self._hello:
            return replies.BAD_SEQUENCE
        if self._transaction is not None:
            return replies.NESTED_MAIL
        mail = read_mail(argument)
        if isinstance(mail, Reply):
            return mail
        refusal = self._house.terms.refuse_sender(mail, self._house.budget.room)
        if refusal is None:
            self._transaction = Transaction(mail)
        return refusal or replies.SENDER_OK

    def _rcpt(self, argument: bytes) -> Reply:
        transaction = self._transaction
        if transaction is None:
            return replies.NEED_MAIL
        transaction.tried += 1
        utf8 = "smtputf8" in transaction.mail.parameters
        recipient = read_recipient(argument, self._house.postmaster, utf8=utf8)
        if isinstance(recipient, Reply):
            return recipient
        address = recipient.address
        if address.mailbox in transaction.recipients:
            return replies.RECIPIENT_OK
        refusal = self._house.terms.refuse_recipient(
            address,
            len(transaction.recipients),
            # The postmaster of this host hears everybody.
            may_relay=self._trusted or self._login is not None or address is self._house.postmaster,
        )
        if refusal is None:
            transaction.recipients[address.mailbox] = recipient
        return refusal or replies.RECIPIENT_OK

    def _data(self, argument: bytes) -> Reply:
        transaction = self._transaction
        if argument:
            return replies.NO_ARGUMENT
        if transaction is None:
            return replies.NEED_MAIL
        if not transaction.recipients:
            return replies.NO_VALID_RECIPIENT if transaction.tried else replies.NEED_RECIPIENT
        if self._house.budget.room <= 0:
            return replies.NO_ROOM
        return replies.GO_AHEAD

    def _rset(self, argument: bytes) -> Reply:
        if argument:
            return replies.NO_ARGUMENT
        self._transaction = None
        return self._chat(replies.OK)

    def _starttls(self, argument: bytes) -> Reply:
        if argument:
            return replies.NO_ARGUMENT
        if self._tls:
            return replies.TLS_ALREADY
        return replies.START_TLS if self._house.offers_tls else replies.NO_TLS

    def _auth(self, argument: bytes) -> Reply | Credentials:
        if not self._house.offers_auth:
            return replies.AUTH_NOT_HERE
        if not self._extended:
            return replies.BAD_SEQUENCE
        if self._authenticated:
            return replies.AUTH_ALREADY
        if self._transaction is not None:
            return replies.AUTH_LATE
        if not (self._tls or self._peer.is_local):
            return replies.AUTH_NEEDS_TLS
        self._exchange, said = auth.begin(argument)
        return said

    def _vrfy(self, argument: bytes) -> Reply:
        return self._chat(replies.NOT_VERIFIED if argument else replies.VRFY_SYNTAX)

    def _noop(self, argument: bytes) -> Reply:
        return self._chat(replies.OK)

    def _help(self, argument: bytes) -> Reply:
        return self._chat(replies.HELP)

    def _quit(self, argument: bytes) -> Reply:
        return replies.GOODBYE

    def _not_implemented(self, argument: bytes) -> Reply:
        return replies.NOT_IMPLEMENTED

    def _not_smtp(self, argument: bytes) -> Reply:
        return replies.NOT_SMTP

    _COMMANDS: ClassVar[dict[bytes, Callable[["Conversation", bytes], Reply | Credentials]]] = {
        b"EHLO": _ehlo,
        b"HELO": _helo,
        b"MAIL": _mail,
        b"RCPT": _rcpt,
        b"DATA": _data,
        b"RSET": _rset,
        b"STARTTLS": _starttls,
        b"AUTH": _auth,
        b"VRFY": _vrfy,
        b"NOOP": _noop,
        b"HELP": _help,
        b"QUIT": _quit,
        # A browser that was led here would go on and send its form as commands.
        **dict.fromkeys((b"GET", b"POST", b"PUT", b"HEAD", b"OPTIONS", b"CONNECT"), _not_smtp),
        **dict.fromkeys(
            (b"BDAT", b"BURL", b"EXPN", b"ETRN", b"ATRN", b"TURN", b"SEND", b"SOML", b"SAML", b"LHLO", b"XCLIENT"),
            _not_implemented,
        ),
    }
