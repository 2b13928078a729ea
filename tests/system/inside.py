"""A dispatcher inside the process of the test, with real workers and a real database."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from twisted.internet import reactor, task

from pepsi.config.load import load
from pepsi.dispatch.service import DispatchService, Plan
from pepsi.sched.settings import Settings
from tests.system.conftest import Theatre


class Inside:
    """*ended* is what the dispatcher said when it could not go on; *longest* the longest time between two turns."""

    def __init__(self, service: DispatchService, ended: list[tuple[str, int]]) -> None:
        self.service = service
        self.ended = ended
        self.longest = 0.0
        self._last = reactor.seconds()

    def beat(self) -> None:
        now = reactor.seconds()
        self.longest, self._last = max(self.longest, now - self._last), now


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await task.deferLater(reactor, 0.02, lambda: None)


@asynccontextmanager
async def inside(theatre: Theatre, dsn: str, **different: Any) -> AsyncIterator[Inside]:
    """Run a dispatcher that connects by *dsn*, until mail moves; *different* are fields of its ``Plan``."""
    plan: dict[str, Any] = {
        "dsn": dsn,
        "connect_timeout": 10.0,
        "statement_timeout": 60.0,
        "read": lambda overlay: load(theatre.config, overlay=overlay),
        "settings": Settings(),
        "standby": False,
        "config_file": None,
        "environ": {**os.environ, "PUPPET_DSN": theatre.database.dsn},
    }
    ended: list[tuple[str, int]] = []
    service = DispatchService(reactor, reactor, Plan(**(plan | different)), lambda *why: ended.append(why))
    service.startService()
    await service.started
    made = Inside(service, ended)
    beating = task.LoopingCall(made.beat)
    beating.start(0.01)
    try:
        yield made
    finally:
        await service.stopService()
        beating.stop()
