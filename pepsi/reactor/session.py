"""A named session with PostgreSQL that heals itself."""

import random
from collections.abc import Callable

import psycopg2
from twisted.internet import defer, task
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from pepsi.db.faults import Fault, fault_of
from pepsi.db.session import Parameters, conninfo, pins
from pepsi.db.statement import Statement
from pepsi.errors import DatabaseError
from pepsi.model.text import one_line
from pepsi.reactor.link import Link, Rows, shielded

FIRST_DELAY = 0.2
"""Seconds before the second attempt to connect; each further one waits longer, up to LONGEST_DELAY."""
LONGEST_DELAY = 5.0
GROWTH = 1.7
RETRIES = 5
"""How often a statement is run again after a serialization failure or a deadlock."""
RETRY_DELAY = 0.05


class Unavailable(DatabaseError):
    """There is no database to ask, or it went away in the middle: whether the statement was done is unknown."""


class Refused(DatabaseError):
    """PostgreSQL ran the statement and refused it. *fault* says of what kind the refusal is."""

    def __init__(self, text: str, fault: Fault) -> None:
        super().__init__(text)
        self.fault = fault


class Session:
    """One connection at a time, made anew with back-off whenever it is lost; statements run one after the other.

    Callbacks given to ``on_up`` and ``on_down`` are called at each change, ``on_heard`` with the name of a channel
    that spoke. A session that connects to a server which refuses writes (a standby, a failover under way) counts that
    as no connection.
    """

    log = Logger()

    def __init__(
        self,
        reactor: IReactorTime,
        parameters: Parameters,
        name: str,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._reactor = reactor
        self._parameters = parameters
        self._name = name
        self._chance = chance
        self._link: Link | None = None
        self._turn = defer.DeferredLock()
        self._wanted = False
        self._healing: defer.Deferred[None] | None = None
        self._delay = 0.0
        """Before the next attempt to connect."""
        self._up_since = float("-inf")
        self._up_callbacks: list[Callable[[], None]] = []
        self._down_callbacks: list[Callable[[], None]] = []
        self._heard_callbacks: list[Callable[[str], None]] = []

    @property
    def name(self) -> str:
        """What the session is called in the log."""
        return self._name

    @property
    def up(self) -> bool:
        """Whether there is a connection that is not known to be lost."""
        return self._link is not None

    @property
    def backend(self) -> int | None:
        """The process id of the server's end, None while down."""
        return None if self._link is None else int(self._link.get_backend_pid())

    def on_up(self, callback: Callable[[], None]) -> None:
        """Call *callback* at each new connection."""
        self._up_callbacks.append(callback)

    def on_down(self, callback: Callable[[], None]) -> None:
        """Call *callback* at each loss."""
        self._down_callbacks.append(callback)

    def on_heard(self, callback: Callable[[str], None]) -> None:
        """Call *callback* with the channel of what was heard, once for a burst."""
        self._heard_callbacks.append(callback)

    async def open(self) -> None:
        """Connect now; raise Unavailable if that fails. From then on the session heals itself."""
        self._wanted = True
        try:
            await self._connect()
        except psycopg2.Error as error:
            self._wanted = False
            raise Unavailable(f"no database: {_sentence(error)}") from error
        self._report_up()

    def start(self) -> None:
        """Begin to connect, and go on trying until there is a database."""
        self._wanted = True
        self._heal()

    async def stop(self) -> None:
        """Disconnect for good. Statements under way fail."""
        self._wanted = False
        healing, self._healing = self._healing, None
        if healing is not None:
            healing.cancel()
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def drop(self, why: str) -> None:
        """Throw the connection away, because it is of no use or does not answer, and make a new one."""
        link = self._link
        if link is not None:
            self._lost(link, why)
            link.close()

    async def run(self, statement: Statement) -> Rows:
        """Run *statement* and return its rows.

        Serialization failures and deadlocks are retried. Raises Unavailable while there is no connection or when it is
        lost in the middle, Refused for any other error that the server reports.
        """
        return await shielded(defer.ensureDeferred(self._run(statement)))

    async def _run(self, statement: Statement) -> Rows:
        link = self._link
        for attempt in range(RETRIES + 1):
            await self._turn.acquire()
            try:
                # Nor on the connection that has taken its place meanwhile: a claim must not run where no lock is held.
                if link is None or link is not self._link:
                    raise Unavailable(f"the {self._name} session has no database")
                return await link.execute(statement)
            except psycopg2.Error as error:
                fault = fault_of(error)
                if fault is not Fault.RETRY or attempt == RETRIES:
                    raise self._translated(link, error, fault) from error
            except defer.CancelledError as error:
                raise Refused("statement timed out on the server", Fault.CANCELLED) from error
            except Unavailable:
                raise
            except Exception as error:
                if link is self._link and link is not None:
                    raise
                # What txpostgres raises for a statement on a connection that was closed under it.
                raise Unavailable(f"the {self._name} session was lost: {error!r}") from error
            finally:
                self._turn.release()
            await task.deferLater(self._reactor, RETRY_DELAY * (1 + self._chance()) * (attempt + 1))
        raise AssertionError("unreachable")

    def _translated(self, link: Link | None, error: psycopg2.Error, fault: Fault) -> DatabaseError:
        sentence = _sentence(error)
        if fault in (Fault.LOST, Fault.READ_ONLY):
            if link is not None and link is self._link:
                self.drop(sentence)
            return Unavailable(f"the {self._name} session was lost: {sentence}")
        return Refused(sentence, fault)

    async def _connect(self) -> None:
        link = Link(self._reactor, self._heard, lambda why: self._lost(link, why))
        try:
            first = (Statement(pins(self._parameters)), _WRITABLE)
            read_only = await link.open(conninfo(self._parameters), first, self._parameters.connect_timeout)
            if read_only != [("off",)]:
                raise psycopg2.OperationalError("the server is read-only")
        except BaseException:
            link.close()
            raise
        if not self._wanted:
            link.close()
            return
        self._link = link
        self._up_since = self._reactor.seconds()

    def _heard(self, channel: str) -> None:
        for callback in self._heard_callbacks:
            callback(channel)

    def _lost(self, link: Link, why: str) -> None:
        if link is not self._link:
            return
        self._link = None
        link.close()
        self.log.warn("database session {name} lost: {why}", name=self._name, why=one_line(why))
        for callback in self._down_callbacks:
            callback()
        self._heal()

    def _heal(self) -> None:
        if self._wanted and self._healing is None:
            self._healing = defer.ensureDeferred(self._reconnect())
            self._healing.addErrback(self._healing_failed)

    async def _reconnect(self) -> None:
        if self._reactor.seconds() - self._up_since > LONGEST_DELAY:
            self._delay = 0.0  # it did well for a while: the first attempt is made at once
        told = ""
        while self._wanted:
            if self._delay:
                await task.deferLater(self._reactor, self._delay * (0.75 + self._chance() / 2))
            self._delay = min(max(FIRST_DELAY, self._delay * GROWTH), LONGEST_DELAY)
            try:
                await self._connect()
            except psycopg2.Error as error:
                # Once for each reason: a server that came back read-only is another story than one that is away.
                why = _sentence(error)
                level = self.log.debug if why == told else self.log.warn
                level("database session {name} cannot connect: {why}", name=self._name, why=why)
                told = why
                continue
            break
        self._healing = None
        if self._link is not None:
            self.log.info("database session {name} is up", name=self._name)
            self._report_up()

    def _healing_failed(self, failure: Failure) -> None:
        self._healing = None
        if not isinstance(failure.value, defer.CancelledError):
            self.log.failure("reconnecting session {name} failed", failure, name=self._name)
            self._reactor.callLater(LONGEST_DELAY, self._heal)

    def _report_up(self) -> None:
        for callback in self._up_callbacks:
            callback()


_WRITABLE = Statement("SELECT pg_catalog.current_setting('transaction_read_only')", {})


def _sentence(error: BaseException) -> str:
    return one_line(str(error)) or type(error).__name__
