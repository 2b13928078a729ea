"""Hears that there is work. A notification is a hint, no more: what was said while nobody listened is lost (I7)."""

from collections.abc import Callable

from twisted.internet import defer
from twisted.logger import Logger

from pepsi.db.statement import Statement
from pepsi.dispatch.reload import Wanted
from pepsi.errors import DatabaseError
from pepsi.reactor.session import Session
from pepsi.sched.events import Event, Wake, Woken

QUEUE = {"workqueue": Wake.NOTIFIED, "workqueue_repair": Wake.REPAIR}
"""New mail, and rows that were moved by hand."""
CHANGES = {"config_changed": Wanted.RELOAD, "telemetry_changed": Wanted.RENEW}
"""Another configuration, and another thing that workers read at their start."""

_LISTEN = Statement("; ".join(f"LISTEN {channel}" for channel in (*QUEUE, *CHANGES)), {})


class Listener:
    """Listens on *session*, again after each reconnect, and takes each connection for a reason to look.

    What concerns the configuration goes to *change*.
    """

    log = Logger()

    def __init__(self, session: Session, report: Callable[[Event], None], change: Callable[[Wanted], None]) -> None:
        self._session = session
        self._report = report
        self._change = change
        session.on_heard(self._heard)
        session.on_up(self._connected)

    async def listen(self) -> None:
        """Listen from now on. Raises DatabaseError."""
        await self._session.run(_LISTEN)

    def _heard(self, channel: str) -> None:
        if channel in QUEUE:
            self._report(Woken(QUEUE[channel]))
        elif channel in CHANGES:
            self._change(CHANGES[channel])

    def _connected(self) -> None:
        defer.ensureDeferred(self._listen_again()).addErrback(
            lambda failure: self.log.failure("listening again failed", failure)
        )

    async def _listen_again(self) -> None:
        try:
            await self.listen()
        except DatabaseError as error:
            self._session.drop(f"it cannot listen: {error}")
            return
        self._report(Woken(Wake.CONNECTED))
        self._change(Wanted.COMPARE)
