"""One connection to PostgreSQL as long as it lives: txpostgres with its holes stopped.

A link is made, used and thrown away; it never reconnects. ``pepsi.reactor.session`` makes the next one.
"""

from collections.abc import Callable, Iterable
from typing import Any

import psycopg2
from twisted.internet import defer
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from txpostgres import txpostgres

from pepsi.db.statement import Statement

Rows = list[tuple[Any, ...]]


class Link(txpostgres.Connection):  # type: ignore[misc]
    """A txpostgres connection that says when it was lost, and what it heard.

    *heard* is called with a channel's name, once for all notifications of one read: a notification is a hint, so a
    flood of them is one hint. *lost* is called once, when the connection broke without being asked to.
    """

    def __init__(self, reactor: IReactorTime, heard: Callable[[str], None], lost: Callable[[str], None]) -> None:
        super().__init__(reactor)
        self._heard = heard
        self._lost = lost
        self._over = False

    async def open(self, conninfo: str, first: Iterable[Statement], timeout: float) -> Rows:
        """Connect, run the statements *first*, and return the rows of the last; or raise psycopg2.Error.

        All of it may take *timeout* seconds: libpq's own bound does not count for asynchronous connects, and a server
        that lets us in may still not answer. A cancel never reaches the driver.
        """
        opening = defer.ensureDeferred(self._open(conninfo, first))
        alarm = self.reactor.callLater(timeout, self.close)
        try:
            return await shielded(opening)
        except (psycopg2.Error, defer.CancelledError):
            raise
        except Exception as error:
            # close() ends a connect with ConnectionDone; asyncioreactor may add a plain OSError.
            raise psycopg2.OperationalError(f"no connection within {timeout:g} s") from error
        finally:
            if alarm.active():
                alarm.cancel()

    async def _open(self, conninfo: str, first: Iterable[Statement]) -> Rows:
        await self.connect(conninfo)
        rows: Rows = []
        for statement in first:
            rows = await self.execute(statement)
        return rows

    async def execute(self, statement: Statement) -> Rows:
        """Run one statement outside a transaction, and return its rows, none if it yields none."""
        cursor = self.cursor()
        try:
            await cursor.execute(*statement.call)
            return cursor.fetchall() if cursor.description is not None else []
        finally:
            cursor.close()

    def close(self) -> None:
        """Close the connection; what is under way fails. Harmless when repeated."""
        self._over = True
        if self._connection is not None:
            for cursor in set(self._cursors):
                # asyncioreactor keys its readers by object: one left behind breaks the next user of the descriptor.
                self.reactor.removeReader(cursor)
                self.reactor.removeWriter(cursor)
            super().close()

    def continuePolling(self, swallowErrors: bool = False) -> None:
        """Report the loss of an idle connection to *lost* instead of to the reactor's log."""
        try:
            super().continuePolling(swallowErrors)
        except psycopg2.Error as error:
            self._end(str(error))

    def doRead(self) -> None:
        """Go on with what is under way, and watch the connection again.

        A connect that failed in the middle leaves one that counts as open, but has no descriptor to be watched any
        more: the base class would hand that to the reactor.
        """
        self.reactor.removeReader(self)
        if self._connection.closed:
            return
        self.continuePolling()
        self.checkForNotifies()
        if self.fileno() >= 0:
            self.reactor.addReader(self)

    def connectionLost(self, reason: Failure) -> None:
        """The reactor saw the socket go."""
        super().connectionLost(reason)
        self._end(reason.getErrorMessage())

    def checkForNotifies(self) -> None:
        """Pass on which channels spoke; the payloads are of no interest."""
        channels = {notify.channel for notify in self._connection.notifies}
        del self._connection.notifies[:]
        for channel in sorted(channels):
            self._heard(channel)

    def _end(self, why: str) -> None:
        if not self._over:
            self._over = True
            self._lost(why)


def shielded(work: defer.Deferred[Rows]) -> defer.Deferred[Rows]:
    """Return a Deferred that may be cancelled freely: the cancel never reaches txpostgres.

    A cancelled txpostgres interaction blocks the reactor in libpq's cancel, and can leave the connection unusable.
    """
    outside: defer.Deferred[Rows] = defer.Deferred()  # without a canceller it swallows a result that comes too late
    work.addBoth(outside.callback)
    return outside
