"""Work that is done once and then over: what a command-line tool does with the reactor."""

import os
import signal
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any

from twisted.internet import defer
from twisted.python.failure import Failure

from pepsi.db.session import Parameters
from pepsi.reactor.session import Session


async def one_session(reactor: Any, parameters: Parameters) -> Session:
    """Return an open session that is over when it is lost: what it held on the server would be gone with it.

    Raises Unavailable.
    """
    session = Session(reactor, parameters, "only")
    session.on_down(lambda: _end(session))
    await session.open()
    return session


def _end(session: Session) -> None:
    defer.ensureDeferred(session.stop())


def run_once(reactor: Any, work: Callable[[], Coroutine[Any, Any, int]], *, interrupted: int) -> int:
    """Run *reactor* until *work* has ended, and return what that returns or raise what that raises.

    At SIGINT the work is cancelled: CancelledError is raised in it, and KeyboardInterrupt here. Another SIGINT ends the
    process at once with the status *interrupted*.
    """
    outcome: list[int | Failure] = []
    under_way: list[defer.Deferred[int]] = []
    asked = False

    def ended(result: int | Failure) -> None:
        outcome.append(result)
        reactor.stop()

    def begin() -> None:
        doing = defer.ensureDeferred(work())
        under_way.append(doing)
        doing.addBoth(ended)
        if asked:
            cancel()

    def cancel() -> None:
        for doing in under_way:
            doing.cancel()

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(interrupted)
        asked = True
        reactor.callFromThread(cancel)

    former = signal.signal(signal.SIGINT, on_signal)
    try:
        reactor.callWhenRunning(begin)
        # Without the reactor's own handlers: theirs would stop it in the middle of the work.
        reactor.run(installSignalHandlers=False)
    finally:
        signal.signal(signal.SIGINT, former)
    (result,) = outcome
    if isinstance(result, Failure):
        if asked and isinstance(result.value, defer.CancelledError):
            raise KeyboardInterrupt
        result.raiseException()
    return result
