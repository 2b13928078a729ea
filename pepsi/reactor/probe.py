"""Finds out that a session is dead although nobody said so: a firewall that drops packets sends no farewell."""

from twisted.internet import defer, task
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from pepsi.db.statement import Statement
from pepsi.errors import DatabaseError
from pepsi.reactor.session import Session

INTERVAL = 20.0
"""Seconds between two questions."""
_log = Logger()
_QUESTION = Statement("SELECT 1", {})


class Probe:
    """Asks *session* for a sign of life now and then, and drops it when none comes in *patience* seconds.

    A statement that is still at work on the server keeps the answer away, so *patience* must be longer than the
    session's longest statement.
    """

    def __init__(self, reactor: IReactorTime, session: Session, *, patience: float, interval: float = INTERVAL) -> None:
        self._reactor = reactor
        self._session = session
        self._interval = interval
        self._patience = patience
        self._loop = task.LoopingCall(lambda: defer.ensureDeferred(self._ask()))
        self._loop.clock = reactor

    def start(self) -> None:
        """Begin to ask, first after one interval."""
        self._loop.start(self._interval, now=False).addErrback(_log_end)

    def stop(self) -> None:
        """Ask no more."""
        if self._loop.running:
            self._loop.stop()

    async def _ask(self) -> None:
        if not self._session.up:
            return
        alarm = self._reactor.callLater(
            self._patience, self._session.drop, f"no sign of life within {self._patience:g} s"
        )
        try:
            await self._session.run(_QUESTION)
        except DatabaseError:
            pass  # the session knows, and heals
        finally:
            if alarm.active():
                alarm.cancel()


def _log_end(failure: Failure) -> None:
    _log.failure("the probe of a session has ended", failure)
