"""Sends letters to one host, over a connection that is kept from one letter to the next."""

import time
from collections.abc import Sequence

from pepsi.relay.answers import Answer, from_fault
from pepsi.relay.channel import Clock
from pepsi.relay.commands import beyond, unsendable
from pepsi.relay.faults import LinkError
from pepsi.relay.host import Host
from pepsi.relay.letter import Letter
from pepsi.relay.session import Session, open_session
from pepsi.relay.transaction import Transaction

AT_ONCE = 100
"""Recipients of one transaction: so many must be taken by every host (RFC 5321, section 4.5.3.1.8)."""
KEPT_FOR = 100
"""Messages that are sent over one connection: a farm of hosts behind one name should see us come back elsewhere."""


class Client:
    """The only way that messages take to *host*. Not for several threads.

    A connection that nobody used for *idle* seconds is not used again.
    """

    def __init__(self, host: Host, *, idle: float, clock: Clock = time.monotonic) -> None:
        self._host = host
        self._idle = idle
        self._clock = clock
        self._kept: Session | None = None
        self._used_at = 0.0
        self._sent = 0

    def send(self, letter: Letter, seconds: float) -> dict[str, Answer]:
        """Offer *letter* to the host and return the answer for each of its recipients.

        Blocks for at most about *seconds*. The last of them, as many as the host may take to answer a whole message,
        are kept for just that: a message that is not out by then is broken off, for one that is out and unanswered may
        have been taken, and would be sent twice. What the host does wrong becomes answers, never an error.
        """
        until = self._clock() + seconds - self._host.timeouts.final
        answers = unsendable(letter)
        todo = [recipient for recipient in letter.recipients if recipient not in answers]
        while todo:
            batch, rest = todo[:AT_ONCE], todo[AT_ONCE:]
            try:
                done = self._transact(letter, batch, until)
            except LinkError as fault:
                # No use in trying the others: they would wait for the same connection.
                return answers | dict.fromkeys(todo, from_fault(fault, self._host.name))
            answers |= done.answers
            if done.fault is not None:
                return answers | dict.fromkeys(rest, from_fault(done.fault, self._host.name))
            # Where nobody was let in, there is no transaction that the surplus was too much for.
            again = done.surplus if done.delivered else []
            todo = again + rest
        return answers

    def close(self) -> None:
        """Say goodbye to the host."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.quit()

    def _transact(self, letter: Letter, recipients: Sequence[str], until: float) -> Transaction:
        session = self._reusable()
        if session is not None:
            session.channel.until = until
            done = self._attempt(session, letter, recipients)
            if done.began or done.fault is None:
                return done
            # A host may drop a connection at any time. This one it dropped before it had heard of the letter.
        self._kept = session = open_session(self._host, until=until, clock=self._clock)
        self._sent = 0
        return self._attempt(session, letter, recipients)

    def _attempt(self, session: Session, letter: Letter, recipients: Sequence[str]) -> Transaction:
        refusals = beyond(letter, session.extensions, force_8bit=self._host.force_8bit)
        done = Transaction(session, letter, [recipient for recipient in recipients if recipient not in refusals])
        done.run()
        done.answers |= {recipient: refusals[recipient] for recipient in recipients if recipient in refusals}
        self._used_at = self._clock()
        self._sent += 1
        if not session.usable:
            self.close()
        return done

    def _reusable(self) -> Session | None:
        session = self._kept
        if session is None:
            return None
        stale = self._clock() - self._used_at > self._idle or self._sent >= KEPT_FOR
        if stale or session.channel.has_input:
            self.close()
            return None
        return session
