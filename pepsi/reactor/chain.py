"""Services that lean on one another."""

from twisted.application.service import MultiService
from twisted.internet import defer


class Chain(MultiService):
    """Starts its services in order, and stops them in the opposite order, each after the one before has ended.

    MultiService stops all at once, which takes the database away from those that still use it.
    """

    def stopService(self) -> "defer.Deferred[None]":
        """Stop all. The Deferred fires when the last has ended; if some fail to, with the first failure."""
        self.running = 0
        return defer.ensureDeferred(self._stop())

    async def _stop(self) -> None:
        failed: BaseException | None = None
        for service in reversed(list(self)):
            try:
                await defer.maybeDeferred(service.stopService)
            except Exception as error:  # noqa: BLE001 - raised below: the others must be stopped all the same.
                failed = failed or error
        if failed is not None:
            raise failed
