"""Connections that are cut off without a word, seen from inside the dispatcher's process."""

import pytest

from pepsi.dispatch.service import LONGEST_CLAIM, PROBE_MARGIN
from pepsi.reactor import probe
from pepsi.sched.settings import Settings
from tests.support_proxy import Proxy
from tests.support_reactor import with_timeout
from tests.system.conftest import Theatre
from tests.system.inside import inside, until

INTERVAL, STATEMENT, MARGIN = 0.2, 0.5, 0.5


def test_a_lost_lock_is_missed_within_a_minute_and_a_half_whatever_the_configuration_says() -> None:
    assert probe.INTERVAL + LONGEST_CLAIM + PROBE_MARGIN <= 90


@pytest.mark.parametrize("sessions", ["lock and claims", "writes", "listening", "*"])
@with_timeout(60)
async def test_silence_is_missed_in_time_holds_nothing_up_and_costs_no_message(theatre: Theatre, sessions: str) -> None:
    scaled = {"statement_timeout": STATEMENT, "probe_interval": INTERVAL, "probe_margin": MARGIN}
    with Proxy(theatre.database.dsn) as proxy:
        async with inside(theatre, proxy.dsn, settings=Settings(poll_interval=0.5), **scaled) as dispatcher:
            before = theatre.inject("slow 0.01", count=10)
            await until(lambda: theatre.left() == 0)
            assert proxy.blackhole(f"pepsi-dispatch: {sessions}") in (1, 3)
            after = theatre.inject("slow 0.01", count=10)
            await until(lambda: theatre.left() == 0)
    assert not dispatcher.ended
    assert theatre.executions() == dict.fromkeys(before + after, 1)
    # A driver that waits for an answer would hold up everything until the session is given up.
    assert dispatcher.longest < STATEMENT + MARGIN
