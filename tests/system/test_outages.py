"""The database is away, full, loud or slow, and the dispatcher inside this process goes on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from twisted.internet import reactor
from twisted.internet.task import deferLater
from twisted.logger import capturedLogs

from pepsi.sched.gauges import Gauges
from pepsi.sched.settings import Settings
from tests.support_database import Database
from tests.support_proxy import Proxy
from tests.support_reactor import with_timeout
from tests.system.conftest import Theatre
from tests.system.inside import Inside, inside, until

ROLE = "pepsi_test_limited"
QUIET = Settings(poll_interval=3600.0)
"""Nothing is found by looking again: what is heard must be enough."""


@pytest.fixture
def proxy(theatre: Theatre) -> Iterator[Proxy]:
    with Proxy(theatre.database.dsn) as made:
        yield made


def end_sessions_of(database: Database, role: str = ROLE) -> None:
    database.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %(role)s", role=role)


def gauges(dispatcher: Inside) -> Gauges:
    read = dispatcher.service.reading().gauges
    assert read is not None
    return read


@pytest.fixture
def limited(database: Database) -> Iterator[str]:
    """A role that may do all that a dispatcher may, and to which a limit of connections applies."""
    database.rows(f"CREATE ROLE {ROLE} LOGIN")
    database.rows(f"GRANT ALL ON SCHEMA pepsi TO {ROLE}")
    database.rows(f"GRANT ALL ON ALL TABLES IN SCHEMA pepsi TO {ROLE}")
    yield f"{database.dsn} user={ROLE}"
    end_sessions_of(database)
    database.rows(f"DROP OWNED BY {ROLE}")
    database.rows(f"DROP ROLE {ROLE}")


def listeners(theatre: Theatre) -> list[int]:
    return [
        pid
        for (pid,) in theatre.database.rows(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'pepsi-dispatch: listening' "
            "AND datname = current_database()"
        )
    ]


@with_timeout(60)
async def test_after_each_of_many_outages_there_is_one_listener_that_hears(theatre: Theatre, proxy: Proxy) -> None:
    def terminate(name: str) -> None:
        theatre.database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %(name)s "
            "AND datname = current_database()",
            name=name,
        )

    async with inside(theatre, proxy.dsn, settings=QUIET) as dispatcher:
        for number in range(5):
            (former,) = listeners(theatre)
            (unheard,) = theatre.inject() if number % 2 else (None,)
            proxy.refuse()
            match number % 3:
                case 0:
                    terminate("pepsi-dispatch: listening")
                case 1:
                    proxy.cut()
                case 2:
                    terminate("pepsi-dispatch%")
            await until(lambda: not listeners(theatre))
            (missed,) = theatre.inject()
            proxy.heal()
            await until(lambda former=former: len(listeners(theatre)) == 1 and former not in listeners(theatre))
            await until(lambda: theatre.left() == 0)
            (heard,) = theatre.inject()
            theatre.database.rows("NOTIFY workqueue")
            await until(lambda: theatre.left() == 0)
            assert theatre.executions()[missed] == theatre.executions()[heard] == 1
            assert unheard is None or theatre.executions()[unheard] == 1
    assert not dispatcher.ended
    await until(lambda: not proxy.names())


@with_timeout(60)
async def test_a_server_without_a_free_connection_is_asked_ever_more_rarely_until_it_has_one(
    theatre: Theatre, limited: str
) -> None:
    def failed() -> list[dict[str, Any]]:
        return [entry for entry in logged if "cannot connect" in str(entry.get("log_format"))]

    async with inside(theatre, limited, settings=QUIET) as dispatcher:
        theatre.database.rows(f"ALTER ROLE {ROLE} CONNECTION LIMIT 0")
        with capturedLogs() as logged:
            end_sessions_of(theatre.database)
            theatre.inject()
            # Three sessions at 0.2, 0.54, 1.1 and 2.1 s or so. At a steady pace there would be ten times as many.
            await deferLater(reactor, 2.0, lambda: None)
            assert 6 <= len(failed()) <= 18
            assert all("too many connections" in entry["why"] for entry in failed())
            assert [entry["log_level"].name for entry in failed()].count("warn") == 3, "one line a session"
            theatre.database.rows(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")
            await until(lambda: theatre.left() == 0)
    assert not dispatcher.ended


@with_timeout(60)
async def test_results_in_hand_are_written_when_the_database_is_back(theatre: Theatre, proxy: Proxy) -> None:
    async with inside(theatre, proxy.dsn, settings=QUIET) as dispatcher:
        (done,) = theatre.inject("slow 0.5")
        (refused,) = theatre.inject("late 0.5 65 it will not do")
        theatre.database.rows("NOTIFY workqueue")
        await until(lambda: len(theatre.executions()) == 2)
        proxy.refuse()
        assert proxy.cut("pepsi-dispatch*") == 3
        await until(lambda: theatre.row(done) is None and gauges(dispatcher).owed == 1)
        assert theatre.status(refused) == "running"
        proxy.heal()
        await until(lambda: theatre.status(refused) == "failed")
    assert theatre.executions() == {done: 1, refused: 1}


@with_timeout(60)
async def test_a_stop_while_the_database_is_away_ends_in_time_with_1_and_names_what_it_leaves(
    theatre: Theatre, proxy: Proxy, clean_reactor: list[Any]
) -> None:
    async with inside(theatre, proxy.dsn, settings=replace(QUIET, stop_time=1.0)) as dispatcher:
        (left,) = theatre.inject("hang")
        theatre.database.rows("NOTIFY workqueue")
        await until(lambda: len(theatre.executions()) == 1)
        proxy.refuse()
        proxy.cut("pepsi-dispatch*")
        await until(lambda: len(proxy.names()) == 0)
        with capturedLogs() as logged:
            await dispatcher.service.stopService()
    clean_reactor.clear()
    assert dispatcher.ended == [("the dispatcher has ended", 1)]
    assert [entry["ids"] for entry in logged if "stay running" in str(entry.get("log_format"))] == [[left]]
    await until(lambda: not theatre.workers())
    async with inside(theatre, theatre.database.dsn, settings=QUIET):
        await until(lambda: theatre.executions()[left] == 2)


@with_timeout(60)
async def test_warnings_and_errors_of_a_slow_trigger_hold_up_no_turn_of_the_reactor(
    theatre: Theatre, clean_reactor: list[Any]
) -> None:
    theatre.database.rows(
        """
        CREATE SEQUENCE public.tries;
        CREATE FUNCTION public.loud() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            FOR n IN 1..2000 LOOP RAISE WARNING 'loud %', n; END LOOP;
            PERFORM pg_sleep(1);
            IF nextval('public.tries') = 1 THEN RAISE EXCEPTION 'and then it fails'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER loud BEFORE UPDATE ON pepsi.workqueue FOR EACH ROW WHEN (NEW.status = 'running')
            EXECUTE FUNCTION public.loud();
        """
    )
    async with inside(theatre, theatre.database.dsn, settings=QUIET) as dispatcher:
        theatre.inject()
        theatre.database.rows("NOTIFY workqueue")
        await until(lambda: theatre.left() == 0)
    clean_reactor.clear()
    assert theatre.database.value("SELECT last_value FROM public.tries") == 2
    assert dispatcher.longest < 0.9, "of a second that each claim takes"


@with_timeout(60)
async def test_a_flood_of_notifications_on_any_channel_is_one_reason_to_look(theatre: Theatre) -> None:
    async with inside(theatre, theatre.database.dsn, settings=QUIET) as dispatcher:
        assert not gauges(dispatcher).wakes.get("notified")
        for _ in range(5):
            theatre.database.rows(
                "SELECT pg_notify(channel, left(repeat(chr(8232) || '\\u0000 no json ', 700), 2600)) "
                "FROM generate_series(1, 200), unnest('{foreign,workqueue,workqueue_repair}'::text[]) channel"
            )
        theatre.inject()
        theatre.database.rows("NOTIFY workqueue")
        await until(lambda: theatre.left() == 0)
        assert 0 < gauges(dispatcher).wakes["notified"] < 400
    assert not dispatcher.ended
