"""Services that lean on one another."""

from collections.abc import Callable
from typing import Any

from twisted.application.service import MultiService
from twisted.internet import defer
from twisted.logger import Logger

_log = Logger()


class Chain(MultiService):
    """Starts its services in order, and stops them in the opposite order, each after the one before has ended.

    MultiService stops all at once, which takes the database away from those that still use it.
    """

    def stopService(self) -> "defer.Deferred[None]":
        """Stop all. The Deferred fires when the last has ended, whether or not it could do so; the log has what failed.

        It never fails: nobody is left to heed it, and the reactor would not end in good order.
        """
        self.running = 0
        return defer.ensureDeferred(each_of(*(service.stopService for service in reversed(list(self)))))


async def each_of(*steps: Callable[[], Any]) -> None:
    """Carry out the *steps* of a stop, each after the Deferred of the one before, whatever became of that.

    What fails is logged. A step that was skipped would leave a thread, a process or a connection behind.
    """
    for step in steps:
        try:
            await defer.maybeDeferred(step)
        except Exception:  # noqa: BLE001 - the log has it, and the others must be stopped all the same.
            _log.failure("this did not stop in good order: {step!r}", step=step)
