"""Lets the service manager know that the dispatcher lives and what it does.

The watchdog is fed from the coordinator's own turns and from nothing else: a reactor that goes round while its
coordinator is stuck is a dispatcher that should be restarted.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet import task
from twisted.internet.interfaces import IReactorTime

from pepsi.reactor.systemd import Manager
from pepsi.sched.gauges import Gauges

STATUS_INTERVAL = 5.0
"""Seconds between two status lines, at least."""


class Pulse:
    """Between ``start`` and ``stop`` it feeds the watchdog.

    *poke* is to cause a turn of the coordinator, which calls ``turned`` at its end; *gauges* is what the engine shows.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        manager: Manager,
        poke: Callable[[], None],
        gauges: Callable[[], Gauges],
    ) -> None:
        self._reactor = reactor
        self._manager = manager
        self._poke = poke
        self._gauges = gauges
        self._fed_at = float("-inf")
        self._told_at = float("-inf")
        self._passes = 0
        self._status = ""
        self._beat: Any = None

    def start(self) -> None:
        """The dispatcher is at work."""
        self._manager.tell(READY=1)
        if self._manager.watchdog is not None:
            self._beat = task.LoopingCall(self._poke)
            self._beat.clock = self._reactor
            self._beat.start(self._manager.watchdog / 2, now=True)

    def stop(self) -> None:
        """It is over. Harmless when repeated, and before ``start``."""
        beat, self._beat = self._beat, None
        if beat is not None:
            beat.stop()

    def turned(self) -> None:
        """The coordinator has had a turn."""
        now = self._reactor.seconds()
        watchdog = self._manager.watchdog
        if self._beat is not None and watchdog is not None and now - self._fed_at >= watchdog / 4:
            self._fed_at = now
            self._manager.tell(WATCHDOG=1)
        if self._manager.present and now - self._told_at >= STATUS_INTERVAL:
            self._tell_status(now)

    def _tell_status(self, now: float) -> None:
        gauges = self._gauges()
        rate = (gauges.passes - self._passes) / (now - self._told_at)
        self._told_at, self._passes = now, gauges.passes
        status = f"{gauges.in_flight} in flight, {rate:.1f} passes a second"
        if not gauges.lock_held:
            status = f"without the database's lock; {gauges.in_flight} in flight"
        if gauges.stopping:
            status = f"stopping; {gauges.in_flight} in flight"
        if status != self._status:
            self._status = status
            self._manager.tell(STATUS=status)
