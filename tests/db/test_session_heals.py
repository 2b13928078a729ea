"""The reactor's database session: what it does when the server takes the connection away."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import defer, reactor, task

from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from pepsi.reactor.session import Refused, Session, Unavailable
from tests.support_database import Database
from tests.support_reactor import with_timeout

PID = Statement("SELECT pg_backend_pid()")


def parameters(dsn: str, **more: Any) -> Parameters:
    return Parameters(dsn=dsn, application_name="pepsi-test-session", **more)


@pytest_twisted.async_yield_fixture
async def session(database: Database) -> AsyncIterator[Session]:
    made = Session(reactor, parameters(database.dsn), "test", chance=lambda: 0.0)
    await made.open()
    yield made
    await made.stop()


def next_up(session: Session) -> defer.Deferred[None]:
    up: defer.Deferred[None] = defer.Deferred()
    session.on_up(lambda: None if up.called else up.callback(None))
    return up


@with_timeout()
async def test_a_statement_without_a_result_returns_no_rows(session: Session) -> None:
    assert await session.run(Statement("CREATE TEMPORARY TABLE t (a int)")) == []
    assert await session.run(Statement("INSERT INTO t VALUES (%(a)s) RETURNING a", {"a": 5})) == [(5,)]


@with_timeout()
async def test_an_idle_session_that_is_cut_off_comes_back_without_a_word_of_ours(
    session: Session, database: Database
) -> None:
    up = next_up(session)
    first = session.backend
    database.rows("SELECT pg_terminate_backend(%(pid)s)", pid=first)
    await up
    assert await session.run(PID) != [(first,)]


@with_timeout()
async def test_a_statement_under_way_when_the_server_cuts_off_is_unavailable(
    session: Session, database: Database
) -> None:
    up = next_up(session)
    sleeping = defer.ensureDeferred(session.run(Statement("SELECT pg_sleep(60)")))
    waiting = defer.ensureDeferred(session.run(PID))
    database.rows("SELECT pg_terminate_backend(%(pid)s)", pid=session.backend)
    for work in (sleeping, waiting):
        with pytest.raises(Unavailable):
            await work
    await up
    assert await session.run(PID)


@with_timeout()
async def test_a_cancel_never_reaches_the_connection(session: Session) -> None:
    sleeping = defer.ensureDeferred(session.run(Statement("SELECT pg_sleep(0.2)")))
    sleeping.cancel()
    with pytest.raises(defer.CancelledError):
        await sleeping
    assert await session.run(PID) == [(session.backend,)]


@with_timeout()
async def test_an_error_of_the_statement_is_refused_and_the_session_lives_on(session: Session) -> None:
    before = session.backend
    with pytest.raises(Refused):
        await session.run(Statement("SELECT 1 / 0"))
    assert await session.run(PID) == [(before,)]


@with_timeout()
async def test_a_time_out_on_the_server_is_refused_and_the_session_lives_on(database: Database) -> None:
    session = Session(reactor, parameters(database.dsn, statement_timeout=0.1), "test")
    await session.open()
    before = session.backend
    with pytest.raises(Refused):
        await session.run(Statement("SELECT pg_sleep(60)"))
    assert await session.run(PID) == [(before,)]
    await session.stop()


@with_timeout()
async def test_a_dropped_session_is_replaced(session: Session) -> None:
    up, before = next_up(session), session.backend
    session.drop("it did not answer")
    assert not session.up
    with pytest.raises(Unavailable):
        await session.run(PID)
    await up
    assert session.backend != before


@with_timeout()
async def test_a_statement_that_waited_for_a_lost_connection_does_not_run_on_the_next(
    session: Session, database: Database
) -> None:
    up = next_up(session)
    sleeping = defer.ensureDeferred(session.run(Statement("SELECT pg_sleep(60)")))
    waiting = [defer.ensureDeferred(session.run(Statement("CREATE TABLE public.claimed ()"))) for _ in range(3)]
    session.drop("it did not answer")
    for work in (sleeping, *waiting):
        with pytest.raises(Unavailable):
            await work
    await up
    await session.run(PID)
    assert database.value("SELECT to_regclass('public.claimed')::text") is None


@with_timeout()
async def test_a_burst_of_notifications_is_heard_and_heard_again_after_a_reconnect_and_a_new_listen(
    session: Session, database: Database
) -> None:
    heard: list[str] = []
    first: defer.Deferred[None] = defer.Deferred()
    session.on_heard(lambda channel: (heard.append(channel), None if first.called else first.callback(None))[1])
    await session.run(Statement("LISTEN workqueue"))
    database.rows("SELECT pg_notify('workqueue', n::text) FROM generate_series(1, 1000) n")
    await first
    assert set(heard) == {"workqueue"}
    assert len(heard) < 1000


@with_timeout()
async def test_no_server_at_the_first_attempt_is_told_at_once(tmp_path: Any) -> None:
    session = Session(reactor, parameters(f"host={tmp_path} dbname=x user=x"), "test")
    with pytest.raises(Unavailable, match="no database"):
        await session.open()
    await session.stop()


@with_timeout()
async def test_the_defaults_of_a_database_do_not_get_through(database: Database) -> None:
    name = database.value("SELECT current_database()")
    for default in ("default_transaction_read_only = on", "statement_timeout = 1", "idle_session_timeout = 50"):
        database.rows(f"ALTER DATABASE {name} SET {default}")
    session = Session(reactor, parameters(database.dsn), "test")
    await session.open()
    assert await session.run(Statement("CREATE TABLE public.t AS SELECT 1 AS a FROM pg_sleep(0.1)")) == []
    assert await session.run(Statement("SELECT a FROM public.t")) == [(1,)]
    await session.stop()


@with_timeout()
async def test_a_server_that_has_become_read_only_is_left_for_a_new_connection(session: Session) -> None:
    up, before = next_up(session), session.backend
    # As a server does that has changed its part behind the connection.
    await session.run(Statement("SET default_transaction_read_only = on"))
    with pytest.raises(Unavailable):
        await session.run(Statement("CREATE TABLE public.t ()"))
    await up
    assert session.backend != before
    await session.run(Statement("CREATE TABLE public.t ()"))


@with_timeout()
async def test_a_statement_that_is_to_be_run_again_is_not_run_on_another_connection(database: Database) -> None:
    database.rows("CREATE SEQUENCE public.tries")
    session = Session(reactor, parameters(database.dsn), "test", chance=lambda: 20.0)
    await session.open()
    up = next_up(session)
    fails = "DO $$ BEGIN PERFORM nextval('public.tries'); RAISE EXCEPTION USING ERRCODE = '40001'; END $$"
    running = defer.ensureDeferred(session.run(Statement(fails)))
    while not database.value("SELECT is_called FROM public.tries"):
        await task.deferLater(reactor, 0.01, lambda: None)
    await session.run(PID)  # the refusal has been read
    session.drop("it did not answer")
    await up
    with pytest.raises(Unavailable):
        await running
    assert database.value("SELECT last_value FROM public.tries") == 1
    await session.stop()
