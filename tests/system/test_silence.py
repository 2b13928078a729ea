"""Connections that are cut off without a word, seen from inside the dispatcher's process."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from twisted.internet import reactor, task

from pepsi.config.load import load
from pepsi.dispatch.service import LONGEST_CLAIM, PROBE_MARGIN, DispatchService, Plan
from pepsi.reactor import probe
from pepsi.sched.engine import Settings
from tests.support_proxy import Proxy
from tests.support_reactor import with_timeout
from tests.system.conftest import Theatre

INTERVAL, STATEMENT, MARGIN = 0.2, 0.5, 0.5


@dataclass
class Heartbeat:
    """Turns of the reactor, and the longest time between two of them."""

    last: float = 0.0
    longest: float = 0.0

    def beat(self) -> None:
        now = reactor.seconds()
        if self.last:
            self.longest = max(self.longest, now - self.last)
        self.last = now


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await task.deferLater(reactor, 0.02, lambda: None)


def test_a_lost_lock_is_missed_within_a_minute_and_a_half_whatever_the_configuration_says() -> None:
    assert probe.INTERVAL + LONGEST_CLAIM + PROBE_MARGIN <= 90


@pytest.mark.parametrize("sessions", ["lock and claims", "writes", "listening", "*"])
@with_timeout(60)
async def test_silence_is_missed_in_time_holds_nothing_up_and_costs_no_message(theatre: Theatre, sessions: str) -> None:
    failures: list[object] = []
    with Proxy(theatre.database.dsn) as proxy:
        plan = Plan(
            dsn=proxy.dsn,
            connect_timeout=10.0,
            statement_timeout=STATEMENT,
            specs=lambda overlay: load(theatre.config, overlay=overlay).specs,
            settings=Settings(poll_interval=0.5),
            standby=False,
            config_file=None,
            environ={**os.environ, "PUPPET_DSN": theatre.database.dsn},
            probe_interval=INTERVAL,
            probe_margin=MARGIN,
        )
        service = DispatchService(reactor, reactor, plan, lambda *why: failures.append(why))
        service.startService()
        await service.started
        heart = Heartbeat()
        beating = task.LoopingCall(heart.beat)
        beating.start(0.01)
        before = theatre.inject("slow 0.01", count=10)
        await until(lambda: theatre.left() == 0)
        assert proxy.blackhole(f"pepsi-dispatch: {sessions}") in (1, 3)
        after = theatre.inject("slow 0.01", count=10)
        await until(lambda: theatre.left() == 0)
        await service.stopService()
        beating.stop()
    assert not failures
    assert theatre.executions() == dict.fromkeys(before + after, 1)
    # A driver that waits for an answer would hold up everything until the session is given up.
    assert heart.longest < STATEMENT + MARGIN
