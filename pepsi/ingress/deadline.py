"""An alarm that is cheap to move: each command moves it, and none of them pays for a timer."""

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime


class Deadline:
    """Calls *expired* when the time that was set last is over."""

    def __init__(self, reactor: IReactorTime, expired: Callable[[], None]) -> None:
        self._reactor = reactor
        self._expired = expired
        self._due: float | None = None
        self._call: IDelayedCall | None = None

    def set(self, seconds: float) -> None:
        """Let the time be over in so many *seconds* from now, whatever was set before."""
        self._due = self._reactor.seconds() + seconds
        if self._call is None:
            self._call = self._reactor.callLater(seconds, self._look)
        elif self._call.getTime() > self._due:
            self._call.reset(seconds)

    def clear(self) -> None:
        """Let the time never be over."""
        self._due = None

    def stop(self) -> None:
        """Be done with it: nothing is left with the reactor."""
        self._due = None
        call, self._call = self._call, None
        if call is not None:
            call.cancel()

    def _look(self) -> None:
        self._call = None
        if self._due is None:
            return
        left = self._due - self._reactor.seconds()
        if left > 0:
            self._call = self._reactor.callLater(left, self._look)
        else:
            self._due = None
            self._expired()
