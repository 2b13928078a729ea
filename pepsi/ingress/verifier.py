"""Checks passwords in a few threads of its own: a hash costs tens of milliseconds and much memory by design."""

from collections.abc import Callable

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

from pepsi.errors import IngressError
from pepsi.ingress.auth import Credentials

THREADS = 2
WAITING_LIMIT = 32
"""Checks that may be under way or wait; at the speed of a hash that is a second or two of work."""


class Busy(IngressError):
    """Too many passwords are being checked."""


class Verifier:
    """Asks *is_right*, in a thread, whether a login and a password belong together. ``start`` it first."""

    def __init__(self, reactor: IReactorFromThreads, is_right: Callable[[str, str], bool]) -> None:
        self._reactor = reactor
        self._is_right = is_right
        self._pool = ThreadPool(minthreads=0, maxthreads=THREADS, name="passwords")
        self._waiting = 0

    def start(self) -> None:
        """Be ready."""
        self._pool.start()

    def stop(self) -> None:
        """End the threads, after the checks that are under way. Harmless when repeated."""
        if self._pool.started:
            self._pool.stop()

    def verify(self, credentials: Credentials) -> Deferred[bool]:
        """Check *credentials*. Fails with Busy, or with what *is_right* raises."""
        if self._waiting >= WAITING_LIMIT:
            return fail(Busy("too many passwords are being checked"))
        self._waiting += 1
        answer = deferToThreadPool(self._reactor, self._pool, self._is_right, credentials.login, credentials.password)
        return answer.addBoth(self._done)

    def _done(self, result: bool) -> bool:
        self._waiting -= 1
        return result
