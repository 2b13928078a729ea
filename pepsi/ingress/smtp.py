"""The protocol of the SMTP door: a conversation on a connection, with its time-outs and its bounds.

Everything that a client pipelines is answered strictly in order. While something slow is under way (a password, a
commit) nothing further is looked at, and next to nothing is read.
"""

from typing import Any, TypeVar

from twisted.internet.interfaces import IHalfCloseableProtocol, ISSLTransport
from twisted.internet.protocol import Protocol, ServerFactory, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from pepsi.ingress import auth, replies
from pepsi.ingress.auth import Credentials
from pepsi.ingress.conversation import Conversation
from pepsi.ingress.deadline import Deadline
from pepsi.ingress.door import Door
from pepsi.ingress.inbox import Inbox
from pepsi.ingress.intake import Intake
from pepsi.ingress.outlet import Outlet
from pepsi.ingress.peer import Peer, peer_of
from pepsi.ingress.replies import Reply
from pepsi.ingress.store import Unavailable
from pepsi.model.envelope import Arrival
from pepsi.model.text import one_line

T = TypeVar("T")

LINGER = 5.0
"""Seconds that a client has to take the last reply before the connection is torn down."""
LINGER_BYTES = 2**20
"""Bytes that it may send meanwhile: what was on its way already."""


class SmtpFactory(ServerFactory):
    """Makes a session of each connection."""

    noisy = False

    def __init__(self, door: Door) -> None:
        self._door = door

    def buildProtocol(self, addr: object) -> "SmtpSession":
        return SmtpSession(self._door)


@implementer(IHalfCloseableProtocol)
class SmtpSession(Protocol):
    """One connection, from its first byte to its last."""

    log = Logger()
    transport: Any
    _peer: Peer
    _outlet: Outlet
    _conversation: Conversation

    def __init__(self, door: Door) -> None:
        self._door = door
        self._deadline = Deadline(door.reactor, self._expired)
        self._inbox = Inbox()
        self._replies: list[bytes] = []
        self._intake: Intake | None = None
        self._message_due = 0.0
        self._greeted = False
        self._busy = False
        self._pumping = False
        self._paused = False
        self._dismissed = False
        self._half_closed = False
        self._over = False
        """The last reply was given: what else comes is not looked at."""
        self._ignored = 0

    def connectionMade(self) -> None:
        self._outlet = Outlet(self.transport, self._pump)
        self._peer = peer_of(self.transport)
        house = self._door.house
        self._conversation = Conversation(house, self._peer, tls=ISSLTransport.providedBy(self.transport))
        refusal = self._door.sessions.admit(self, self._peer)
        if refusal is not None:
            self.log.info("{peer}: not let in: {reply}", peer=self._peer, reply=str(refusal))
            self._say(refusal)
            self._flush()
            return
        if not self._peer.is_local:
            self.transport.setTcpNoDelay(True)
        delay = self._door.options.greeting_delay
        if delay and not self._peer.is_local and not house.terms.is_trusted(self._peer.address):
            self._deadline.set(delay)
        else:
            self._greet()

    def dataReceived(self, data: bytes) -> None:
        if self._over:
            self._ignored += len(data)
            if self._ignored > LINGER_BYTES:
                self._outlet.abort()
            return
        self._inbox.add(data)
        if not self._greeted:
            self._greeted = True
            self._say(replies.EARLY_TALKER)
        self._pump()

    def readConnectionLost(self) -> None:
        """The client sends nothing more. It may have sent all it has, and gets all its answers still."""
        self._half_closed = True
        if self._over:
            self._outlet.close(lingering=False)
        else:
            self._pump()

    def writeConnectionLost(self) -> None:
        """Our own side was shut after the last reply."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._over = True
        self._deadline.stop()
        if self._intake is not None:
            self._intake.release()
        self._door.sessions.ended(self)
        self.log.debug("{peer}: connection closed: {why}", peer=self._peer, why=one_line(reason.getErrorMessage()))

    def dismiss(self) -> None:
        """Say goodbye now, or as soon as the message under way is done with."""
        self._dismissed = True
        self._pump()

    def abort(self) -> None:
        """End now, without another word."""
        self._outlet.abort()

    def _greet(self) -> None:
        self._greeted = True
        self._deadline.set(self._door.options.command_timeout)
        self._say(replies.greeting(self._door.house.hostname))
        self._flush()

    def _expired(self) -> None:
        if self._over:
            self._outlet.abort()
        elif not self._greeted:
            self._greet()
        else:
            self.log.info("{peer}: timed out", peer=self._peer)
            self._say(replies.TIMED_OUT)
            self._flush()

    def _pump(self) -> None:
        """Do all that can be done with what has come, and write all that there is to say about it."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while not (self._busy or self._over or self._outlet.choked):
                if not (self._read_line() if self._intake is None else self._read_data(self._intake)):
                    self._rest()
                    break
        except Exception:  # noqa: BLE001 - whatever broke, the client is told to come again, and the log has it.
            self.log.failure("{peer}: the session cannot go on", peer=self._peer)
            if self._over:
                self._outlet.abort()
            else:
                self._say(replies.LOCAL_ERROR)
        finally:
            self._pumping = False
        self._flush()
        waits = (self._busy or self._outlet.choked) and not self._over and len(self._inbox) > 0
        if waits != self._paused and not self._half_closed:
            self._paused = waits
            (self.transport.pauseProducing if waits else self.transport.resumeProducing)()

    def _rest(self) -> None:
        """All that came was looked at: end the session if nothing more is expected of it."""
        if self._over:
            return
        if self._half_closed:
            self._close(lingering=False)
        elif self._dismissed and self._intake is None:
            self._say(replies.STOPPING)

    def _read_line(self) -> bool:
        """Carry out one command. Returns whether there was one."""
        in_exchange = self._conversation.is_authenticating
        limit = auth.LINE_LIMIT if in_exchange else self._door.options.max_command_length
        line = self._inbox.take_line(limit)
        if line is None:
            if len(self._inbox) > limit + 1:
                # Where the next command begins after a line that was not read is anybody's guess.
                self._say(replies.AUTH_LONG if in_exchange else replies.LINE_TOO_LONG)
            return False
        # A whole command earns more time; a part of one does not, or a byte a minute could go on for ever.
        self._deadline.set(self._door.options.command_timeout)
        answer = self._conversation.answer(line)
        if isinstance(answer, Credentials):
            self._verify(answer)
        else:
            self._say(answer)
        return True

    def _read_data(self, intake: Intake) -> bool:
        """Take what has come of a message. Returns whether that was the end of it."""
        data = self._inbox.take_all()
        if not data:
            return False
        rest = intake.feed(data)
        if rest is None:
            left = self._message_due - self._door.reactor.seconds()
            self._deadline.set(max(0.0, min(self._door.options.data_timeout, left)))
            return False
        self._inbox.add(rest)
        trace_id = self._door.new_id()
        collected = self._conversation.collected(intake.phase, trace_id, self._door.wall_clock())
        if isinstance(collected, Arrival):
            self._submit(collected, trace_id, intake)
        else:
            self._intake = None
            intake.release()
            self.log.info("{peer}: message refused: {reply}", peer=self._peer, reply=str(collected))
            self._deadline.set(self._door.options.command_timeout)
            self._say(collected)
        return True

    def _submit(self, arrival: Arrival, trace_id: str, intake: Intake) -> None:
        self._wait()
        stored = self._door.store.submit(arrival)
        # Whatever becomes of the connection, the memory is taken until the store is done with the message.
        self._intake = None
        stored.addBoth(self._release, intake)
        stored.addCallbacks(self._stored, self._not_stored, callbackArgs=(arrival, trace_id))
        stored.addErrback(self._broken)

    def _release(self, result: T, intake: Intake) -> T:
        intake.release()
        return result

    def _stored(self, number: int, arrival: Arrival, trace_id: str) -> None:
        login = "" if self._peer.is_local or arrival.auth_login is None else f" as {arrival.auth_login}"
        self.log.info(
            "{number}: <{sender}> to {recipients} recipients, {size} bytes, from {peer}{login}, id {trace_id}",
            number=number,
            sender=arrival.mail_from,
            recipients=len(arrival.recipients),
            size=len(arrival.message),
            peer=self._peer,
            login=login,
            trace_id=trace_id,
        )
        self._resume(replies.queued(number))

    def _not_stored(self, failure: Failure) -> Failure | None:
        if not isinstance(failure.value, Unavailable):
            return failure
        self.log.info("{peer}: message not stored: {why}", peer=self._peer, why=one_line(str(failure.value)))
        self._resume(replies.NOT_STORED)
        return None

    def _verify(self, credentials: Credentials) -> None:
        verifier = self._door.verifier
        if verifier is None:
            raise AssertionError("AUTH without a password file")
        self._wait()
        checked = verifier.verify(credentials)
        checked.addCallbacks(self._checked, self._not_checked, callbackArgs=(credentials.login,))
        checked.addErrback(self._broken)

    def _checked(self, right: bool, login: str) -> None:
        word = "logged in as" if right else "wrong password for"
        self.log.info("{peer}: {word} {login}", peer=self._peer, word=word, login=one_line(login, 255))
        self._resume(self._conversation.checked(login, right=right))

    def _not_checked(self, failure: Failure) -> None:
        self.log.warn("cannot check passwords: {why}", why=one_line(failure.getErrorMessage()))
        self._resume(replies.AUTH_UNAVAILABLE)

    def _broken(self, failure: Failure) -> None:
        self.log.failure("{peer}: the session cannot go on", failure, peer=self._peer)
        self._resume(replies.LOCAL_ERROR)

    def _wait(self) -> None:
        """Look at nothing further, and blame no time on the client, until ``_resume``."""
        self._busy = True
        self._deadline.clear()

    def _resume(self, reply: Reply) -> None:
        self._busy = False
        if not self._over:
            self._deadline.set(self._door.options.command_timeout)
            self._say(reply)
            self._pump()

    def _say(self, reply: Reply) -> None:
        """Add *reply* to what is written next, and begin what it announces."""
        if reply is replies.START_TLS and len(self._inbox):
            # What was sent before the handshake must never be taken for something that was sent under its protection.
            reply = replies.NOT_SO_FAST
        self._replies.append(reply.wire)
        if reply.closes:
            self._close(lingering=self._greeted and reply is not replies.GOODBYE)
        elif reply is replies.START_TLS:
            self._start_tls()
        elif reply is replies.GO_AHEAD:
            options = self._door.options
            self._intake = Intake(self._door.house.budget, self._door.house.terms.max_message_size)
            self._message_due = self._door.reactor.seconds() + options.message_timeout
            self._deadline.set(min(options.data_timeout, options.message_timeout))

    def _flush(self) -> None:
        if self._replies:
            said, self._replies = b"".join(self._replies), []
            self._outlet.write(said)

    def _start_tls(self) -> None:
        if self._door.tls is None:
            raise AssertionError("STARTTLS without a certificate")
        self._flush()
        self._outlet.start_tls(self._door.tls)
        self._conversation.secured()

    def _close(self, *, lingering: bool) -> None:
        self._over = True
        self._flush()
        self._deadline.set(LINGER)
        self._outlet.close(lingering=lingering and not self._half_closed)
