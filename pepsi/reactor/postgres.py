"""A service that looks after the private PostgreSQL server while the reactor runs."""

from collections.abc import Callable
from typing import Any

from twisted.application.service import Service
from twisted.internet import defer, task
from twisted.logger import Logger

from pepsi.db.embedded import PrivateServer
from pepsi.errors import DatabaseError

LOOK = 1.0
"""Seconds between two looks at a server that is well."""
LONGEST = 10.0
"""Seconds at most between two looks at one that is not."""

_STOP_LOOK = 0.05
_STOP_PATIENCE = 30.0


class PostgresService(Service):
    """Starts *server* again when it has died, and takes it over when the process that owned it is gone.

    Start *server* itself before the reactor: making a data directory and recovering from a crash take their time.
    """

    log = Logger()

    def __init__(self, reactor: Any, server: PrivateServer, look: float = LOOK) -> None:
        self._reactor = reactor
        self._server = server
        self._look = look
        self._delay = look
        self._call: Any = None

    def startService(self) -> None:
        """Begin to watch."""
        super().startService()  # type: ignore[no-untyped-call]
        self._call = self._reactor.callLater(self._look, self._tend)

    def stopService(self) -> "defer.Deferred[None]":
        """Stop watching and end the server, if it is ours. Nothing may be connected to it any more that matters."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._call is not None and self._call.active():
            self._call.cancel()
        self._call = None
        return defer.ensureDeferred(self._stop())

    def _tend(self) -> None:
        # In the reactor's own thread: the server is told to end when the thread that started it does.
        try:
            up = self._server.tend()
        except (DatabaseError, OSError) as error:
            up = False
            self.log.error("{error}", error=str(error))
        self._delay = self._look if up else min(LONGEST, self._delay * 2)
        self._call = self._reactor.callLater(self._delay, self._tend)

    async def _stop(self) -> None:
        self._server.request_stop()
        waited = 0.0
        while self._server.stopping and waited < _STOP_PATIENCE:
            await task.deferLater(self._reactor, _STOP_LOOK, _nothing)
            waited += _STOP_LOOK
        self._server.stop()


def server_log(log: Logger) -> Callable[[str], None]:
    """Return what to give a ``PrivateServer`` as its log."""

    def write(sentence: str) -> None:
        log.warn("{sentence}", sentence=sentence)

    return write


def _nothing() -> None:
    """Nothing is left to do but to have waited."""
