"""Databases that would break a careless client: settings of a role, and a server that takes no writes for a while."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pepsi.db.embedded import PrivateServer, home_of
from tests.support_database import Database, install
from tests.support_program import until
from tests.system.conftest import Theatre
from tests.system.test_service import fetch, metrics_of, value

HOSTILE = {
    "idle_session_timeout": "200ms",
    "idle_in_transaction_session_timeout": "100ms",
    "statement_timeout": "200ms",
    "lock_timeout": "100ms",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "plan_cache_mode": "force_custom_plan",
    "search_path": "nowhere",
    "jit": "on",
}
DISCARD = "PROGRAM = pepsi-stage-discard"


def test_no_default_of_the_role_costs_a_session_or_a_message(theatre: Theatre) -> None:
    database = theatre.database
    name = database.value("SELECT current_database()")
    for setting, given in HOSTILE.items():
        database.rows(f"ALTER DATABASE {name} SET {setting} = '{given}'")
    dispatch = "POLL_INTERVAL = 300 ms\nMETRICS_LISTEN = tcp:0:interface=127.0.0.1"
    theatre.write_config(dispatch=dispatch, first=f"{DISCARD}\nNEXT_STAGE = second", second=DISCARD)
    dispatcher = theatre.dispatcher()
    address = metrics_of(dispatcher)
    theatre.inject(stage="first", count=50)
    theatre.wait_until_empty()
    until(lambda: value(fetch(address), 'pepsi_wakes_total{reason="heartbeat"}') >= 5)
    theatre.inject(stage="first", count=50)
    theatre.wait_until_empty()
    page = fetch(address)
    assert value(page, "pepsi_claims_failed_total") == 0
    assert value(page, 'pepsi_strikes_total{stage="first"}') == 0
    assert dispatcher.stop() == 0
    assert not [line for line in dispatcher.said if "lost" in line or "refused" in line]


class Failover:
    """A server of its own that can come back as a standby, and be promoted."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.server = PrivateServer(directory, fast=True)
        self.database = Database(self.server.start())

    def demote(self) -> None:
        """Let the server go, and come back as a standby that takes no writes."""
        self.database.close()
        self.server.stop()
        (home_of(self.directory) / "data/standby.signal").touch()
        self.server = PrivateServer(self.directory, fast=True)
        self.server.start()

    def promote(self) -> None:
        assert self.database.value("SELECT pg_promote()")

    def close(self) -> None:
        self.database.close()
        self.server.stop()


@pytest.fixture
def failover(state_directory: Path) -> Iterator[Failover]:
    made = Failover(state_directory)
    with contextlib.closing(made):
        install(made.database)
        yield made


def test_a_server_that_comes_back_read_only_is_waited_for_and_no_message_blamed(
    failover: Failover, tmp_path: Path
) -> None:
    directory = tmp_path / "dispatcher"
    directory.mkdir()
    with contextlib.closing(Theatre(directory, failover.database)) as theatre:
        theatre.write_config(dispatch="METRICS_LISTEN = tcp:0:interface=127.0.0.1", first=DISCARD)
        dispatcher = theatre.dispatcher()
        address = metrics_of(dispatcher)
        theatre.inject(stage="first", count=10)
        theatre.wait_until_empty()
        theatre.inject(stage="first", count=200)
        failover.demote()
        dispatcher.wait_for("session lock and claims cannot connect: the server is read-only")
        assert fetch(address, "healthz").startswith("no database for: lock and claims")
        assert value(fetch(address), "pepsi_lock_held") == 0
        failover.promote()
        theatre.inject(stage="first", count=10)
        theatre.wait_until_empty()
        until(lambda: fetch(address, "healthz") == "ok\n")
        assert theatre.database.rows("SELECT sum(strikes), sum(failures) FROM pepsi.stage_stats") == [(0, 0)]
        assert dispatcher.stop() == 0


def test_a_start_on_a_standby_is_an_error_that_says_so(failover: Failover, tmp_path: Path) -> None:
    directory = tmp_path / "dispatcher"
    directory.mkdir()
    failover.demote()
    with contextlib.closing(Theatre(directory, failover.database)) as theatre:
        dispatcher = theatre.dispatcher(wait=False)
        dispatcher.wait_for("no database: the server is read-only")
        assert dispatcher.wait() == 1
