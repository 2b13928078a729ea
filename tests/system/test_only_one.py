"""One dispatcher works on a database, whatever becomes of its connections."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pepsi.model import claim
from tests import fake_pooler
from tests.support_program import until
from tests.support_proxy import Proxy
from tests.system.conftest import Theatre

LOCK = "pepsi-dispatch: lock and claims"
BACKENDS = (
    "SELECT application_name, pid FROM pg_stat_activity WHERE application_name LIKE 'pepsi-dispatch%%' "
    "AND datname = current_database()"
)


@pytest.fixture
def proxy(theatre: Theatre) -> Iterator[Proxy]:
    with Proxy(theatre.database.dsn) as made:
        yield made


def through(theatre: Theatre, proxy: Proxy, **options: str) -> None:
    """Let dispatchers to come, and their workers, connect through *proxy*."""
    theatre.dsn = proxy.dsn
    theatre.write_config(**options)


def directly(theatre: Theatre, **options: str) -> None:
    theatre.dsn = theatre.database.dsn
    theatre.write_config(**options)


def end(theatre: Theatre, name: str) -> int:
    """End sessions at the server; return how many."""
    return len(
        theatre.database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name LIKE %(name)s AND datname = current_database()",
            name=name,
        )
    )


def backends(theatre: Theatre) -> dict[str, int]:
    return dict(theatre.database.rows(BACKENDS))


def test_a_lost_lock_is_taken_again_while_all_else_stays_connected(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    theatre.inject("slow 0.05", count=40)
    until(lambda: len(theatre.events()) >= 10)
    before = backends(theatre)
    assert end(theatre, LOCK) == 1
    theatre.wait_until_empty()
    after = backends(theatre)
    assert {name for name in before if before[name] != after[name]} == {LOCK}
    assert max(theatre.executions().values()) == 1
    assert dispatcher.stop() == 0


def test_a_lock_that_is_cut_off_in_silence_is_missed_and_taken_again(theatre: Theatre, proxy: Proxy) -> None:
    # The real thing, with the real intervals: 20 s between two looks, 10 s and STATEMENT_TIMEOUT for an answer.
    through(theatre, proxy)
    theatre.config.write_text(
        theatre.config.read_text().replace("[pepsi-dispatch]", "STATEMENT_TIMEOUT = 1 s\n[pepsi-dispatch]")
    )
    dispatcher = theatre.dispatcher()
    theatre.inject("slow 0.01", count=20)
    theatre.wait_until_empty()
    assert proxy.blackhole(LOCK) == 1
    held = backends(theatre)[LOCK]
    numbers = theatre.inject("slow 0.01", count=20)
    dispatcher.wait_for("lock and claims lost: no sign of life within 11 s", 35)
    theatre.wait_until_empty()
    assert backends(theatre)[LOCK] != held, "the former session has been ended at the server"
    assert [theatre.executions()[number] for number in numbers] == [1] * 20
    assert dispatcher.stop() == 0


def test_a_standby_takes_over_from_one_that_is_cut_off_which_fences_itself_when_it_comes_back(
    theatre: Theatre, proxy: Proxy
) -> None:
    through(theatre, proxy, puppet="PARALLELISM = 2")
    first = theatre.dispatcher()
    lock = backends(theatre)[LOCK]
    theatre.inject(count=5)
    theatre.wait_until_empty()
    (hanging,) = theatre.inject("hang")
    until(lambda: len(theatre.workers()) == 1 and ("begin", hanging) in [event[:2] for event in theatre.events()])
    (former,) = theatre.workers()
    directly(theatre, dispatch="STANDBY = yes", puppet="")
    standby = theatre.dispatcher(wait=False)
    standby.wait_for("waiting for the dispatcher's lock")
    proxy.blackhole("pepsi-dispatch*", lasting=True)
    # As the server does when the network gives it no answer.
    theatre.database.rows("SELECT pg_terminate_backend(%(pid)s)", pid=lock)
    standby.wait_for("dispatching under epoch 2")
    others = theatre.inject(count=5)
    until(lambda: all(theatre.row(number) is None for number in others))
    assert first.running, "it cannot know"
    assert theatre.status(hanging) == "running", "its worker is still at it"
    proxy.heal()
    first.wait_for("another dispatcher has taken over: the database is at epoch 2")
    assert first.wait() == 1
    assert not Path(f"/proc/{former}").exists()
    until(lambda: theatre.executions()[hanging] == 2)
    row = theatre.row(hanging)
    assert row is not None
    assert row[2] == {"interrupted": 1}
    assert standby.stop() == 0


def test_one_that_is_replaced_during_its_start_ends(theatre: Theatre, proxy: Proxy) -> None:
    through(theatre, proxy)
    proxy.blackhole("pepsi-dispatch: writes", lasting=True)
    dispatcher = theatre.dispatcher(wait=False)
    until(lambda: theatre.database.value("SELECT epoch FROM pepsi.dispatcher_epoch") == 1)
    former = backends(theatre)[LOCK]
    theatre.database.rows("UPDATE pepsi.dispatcher_epoch SET epoch = 2")
    assert end(theatre, LOCK) == 1
    # Its new session has asked whose turn it is.
    asked = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = %(name)s AND pid <> %(former)s "
        "AND datname = current_database() AND state = 'idle' AND query LIKE '%%dispatcher_epoch%%'"
    )
    until(lambda: theatre.database.value(asked, name=LOCK, former=former) == 1)
    proxy.heal()
    assert dispatcher.wait() == 1
    dispatcher.wait_for("another dispatcher has taken over: the database is at epoch 2")


def test_a_standby_outlasts_an_outage_and_a_signal_ends_its_wait_at_once(theatre: Theatre, proxy: Proxy) -> None:
    first = theatre.dispatcher()
    through(theatre, proxy, dispatch="STANDBY = yes")
    standby = theatre.dispatcher(wait=False)
    standby.wait_for("waiting for the dispatcher's lock")
    proxy.refuse()
    proxy.cut()
    standby.wait_for("lock and claims cannot connect")
    proxy.heal()
    standby.wait_for("lock and claims is up")
    other = theatre.dispatcher(wait=False)
    other.wait_for("waiting for the dispatcher's lock")
    other.kill(signal.SIGTERM)
    assert other.wait(10) == 0
    first.kill(signal.SIGKILL)
    standby.wait_for("dispatching under epoch 2")
    assert standby.stop() == 0


def test_sessions_of_former_workers_are_ended_before_their_messages_are_given_back(theatre: Theatre) -> None:
    (interrupted,) = theatre.inject()
    theatre.database.rows("UPDATE pepsi.dispatcher_epoch SET epoch = 1")
    theatre.database.rows("UPDATE pepsi.workqueue SET status = 'running', claim = %(claim)s", claim=claim.pack(1, 5))
    former = theatre.database.connect("pepsi-stage-puppet")
    dispatcher = theatre.dispatcher()
    dispatcher.wait_for("workers of a former dispatcher are to end: .*pepsi-stage-puppet")
    others = theatre.inject(count=5)
    until(lambda: all(theatre.row(number) is None for number in others))
    assert theatre.status(interrupted) == "running"
    theatre.wait_until_empty()
    assert (
        former.closed
        or theatre.database.value(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = %(pid)s", pid=former.info.backend_pid
        )
        == 0
    )
    assert dispatcher.stop() == 0


@pytest.mark.parametrize("policy", ["rotate", "stack"])
def test_a_transaction_pooler_is_refused_whichever_session_it_gives_out(theatre: Theatre, policy: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", fake_pooler.__name__, theatre.database.dsn, policy, "3"],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    ) as pooler:
        assert pooler.stdout is not None
        theatre.dsn = f"host=127.0.0.1 port={pooler.stdout.readline().strip()} dbname=x user=x"
        theatre.write_config()
        refused = theatre.dispatcher(wait=False)
        assert refused.wait() == 1
        refused.wait_for("the DSN leads to a transaction pooler")
        pooler.kill()
