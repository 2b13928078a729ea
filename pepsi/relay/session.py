"""An SMTP session, from the connection to the point where a message can be sent (RFC 5321, 3207, 4954)."""

import contextlib
import dataclasses
import time
from base64 import b64encode

from pepsi.relay.channel import Channel, Clock, connect
from pepsi.relay.commands import QUIT
from pepsi.relay.extensions import NONE, extensions_of
from pepsi.relay.faults import LinkError, TlsError
from pepsi.relay.host import Host, Login, TlsPolicy
from pepsi.relay.replies import CLOSING, Reply

_FAREWELL = 2.0
"""Seconds to wait for the reply to QUIT, which nobody needs."""


class Session:
    """A host that has greeted us, knows who we are, and waits for commands.

    *usable* becomes False when the two sides may no longer agree on where they stand. *dirty* means that the host
    still holds a sender and must be told to forget it.
    """

    def __init__(self, channel: Channel, host: Host) -> None:
        self.channel = channel
        self.host = host
        self.extensions = NONE
        self.usable = True
        self.dirty = False

    def ask(self, line: bytes) -> Reply:
        """Send one command and return the reply to it. Raises LinkError, also when the host says goodbye."""
        self.channel.write(line, self.host.timeouts.command)
        return self.hear()

    def hear(self, seconds: float | None = None) -> Reply:
        """Return the reply to a command that was sent before."""
        reply = self.channel.reply(self.host.timeouts.command if seconds is None else seconds)
        if reply.code == CLOSING:
            raise LinkError("the host closes the connection", status=reply.status, reply=reply)
        return reply

    def quit(self) -> None:
        """End the session, politely if it is in a state to do so."""
        if self.usable:
            with contextlib.suppress(LinkError):
                self.channel.allow(_FAREWELL)
                self.channel.write(QUIT, _FAREWELL)
                self.channel.reply(_FAREWELL)
        self.channel.close()

    def greet(self) -> None:
        """Wait for the greeting."""
        _demand(self.hear(), "does not want to talk to us")

    def hello(self) -> None:
        """Say who we are and learn what the host can do."""
        reply = self.ask(f"EHLO {self.host.helo}\r\n".encode())
        if reply.code // 100 == 5:
            _demand(self.ask(f"HELO {self.host.helo}\r\n".encode()), "refused EHLO and HELO")
            self.extensions = NONE
        else:
            _demand(reply, "refused EHLO")
            self.extensions = extensions_of(reply)

    def secure(self, policy: TlsPolicy) -> None:
        """Start TLS as *policy* asks for it. Nothing that the host said before counts afterwards."""
        if policy is TlsPolicy.NONE or self.channel.encrypted:
            return
        if "STARTTLS" not in self.extensions:
            if policy.is_mandatory:
                raise TlsError("the host does not offer STARTTLS, which TLS asks for")
            return
        reply = self.ask(b"STARTTLS\r\n")
        if reply.code == 220:
            self.encrypt()
            self.hello()
        elif policy.is_mandatory:
            raise TlsError(f"the host refused STARTTLS: {reply}")

    def encrypt(self) -> None:
        """Put TLS on the connection."""
        if self.host.wrap is None:
            raise TypeError(f"no TLS context for {self.host.name}")
        self.channel.encrypt(self.host.wrap, self.host.timeouts.command)

    def log_in(self) -> None:
        """Authenticate, if we have a password and nobody but the host can read it."""
        login = self.host.login
        if login is None:
            return
        if not (self.channel.encrypted or self.channel.is_loopback or self.host.login_in_clear):
            raise LinkError("the password is not sent without TLS", status="4.7.0")
        if "PLAIN" in self.extensions.auth:
            reply = self._plain(login)
        elif "LOGIN" in self.extensions.auth:
            reply = self._login(login)
        else:
            raise LinkError("the host offers neither AUTH PLAIN nor AUTH LOGIN", status="4.7.0")
        _demand(reply, "refused our user name and password")

    def _plain(self, login: Login) -> Reply:
        return self.ask(b"AUTH PLAIN " + _base64(f"\0{login.user}\0{login.password}") + b"\r\n")

    def _login(self, login: Login) -> Reply:
        reply = self.ask(b"AUTH LOGIN\r\n")
        for word in (login.user, login.password):
            if reply.code == 334:
                reply = self.ask(_base64(word) + b"\r\n")
        return reply


def open_session(host: Host, *, until: float, clock: Clock = time.monotonic) -> Session:
    """Return a session with *host* that is ready for a message.

    Where TLS is only welcome, a host that offers it and fails is asked once more without. Raises LinkError.
    """
    try:
        return _open(host, until, clock)
    except TlsError:
        if host.policy.is_mandatory or host.implicit:
            raise
        return _open(dataclasses.replace(host, policy=TlsPolicy.NONE), until, clock)


def _open(host: Host, until: float, clock: Clock) -> Session:
    channel = connect(host.name, host.port, seconds=host.timeouts.connect, until=until, clock=clock)
    session = Session(channel, host)
    try:
        if host.implicit:
            session.encrypt()
        session.greet()
        session.hello()
        session.secure(host.policy)
        session.log_in()
    except BaseException:
        channel.close()
        raise
    return session


def _demand(reply: Reply, otherwise: str) -> None:
    if reply.code // 100 != 2:
        raise LinkError(f"the host {otherwise}", status=f"4{reply.status[1:]}", reply=reply)


def _base64(text: str) -> bytes:
    return b64encode(text.encode())
