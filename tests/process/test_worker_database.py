"""A worker whose database goes away and comes back."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg2
import pytest
from psycopg2.extensions import make_dsn, parse_dsn

from pepsi.db import sync
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from tests.process.conftest import Configure, Gate
from tests.support_database import Database
from tests.support_worker import EPOCH, Worker, claim_again, program, put, row, running


@contextmanager
def odd(config: str) -> Iterator[Worker]:
    command = program("tests.process.odd_stage", "-c", config, "worker")
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        yield worker


def cut(database: Database) -> None:
    """End the sessions of all workers."""
    ended = database.rows(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND application_name LIKE 'pepsi-stage-%%'"
    )
    assert ended == [(True,)]


def test_a_connection_lost_under_a_message_is_answered_74_and_the_next_message_has_a_new_one(
    configure: Configure, database: Database, gate: Gate
) -> None:
    with odd(configure(f"GATE = {gate.path}")) as worker:
        first, second = put(database, "wait", "advance")
        worker.hand(first, second)
        gate.reached()
        cut(database)
        gate.open()
        assert worker.line() == "ready"
        assert worker.line().startswith("74 ")
        assert worker.line() == "0"
        assert row(database, first)["status"] == "running"
        assert row(database, second)["stage"] == "next"


def test_a_connection_lost_while_nothing_is_to_be_done_costs_no_message_anything(
    configure: Configure, database: Database
) -> None:
    with odd(configure()) as worker:
        assert worker.line() == "ready"
        cut(database)
        worker.wait_for("connected to the database again")
        worker.hand(*put(database, "advance"))
        assert worker.line() == "0"


@pytest.fixture
def closed_database(database: Database, server: str) -> Iterator[tuple[str, str]]:
    """Statements that close the database to new sessions, and open it again."""
    name = parse_dsn(database.dsn)["dbname"]
    with closing(sync.connect(Parameters(dsn=server, application_name="pepsi-test"))) as connection:

        def allow(yes: bool) -> None:
            sync.run(connection, Statement(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {yes}"))

        yield allow


def test_while_the_database_is_away_each_id_is_answered_74_at_once_and_it_heals_by_itself(
    configure: Configure, database: Database, closed_database
) -> None:
    with odd(configure()) as worker:
        assert worker.line() == "ready"
        ids = put(database, "advance", "advance", "advance")
        closed_database(False)
        cut(database)
        worker.hand(*ids)
        assert [line.split()[0] for line in worker.lines(3)] == ["74", "74", "74"]
        closed_database(True)
        worker.wait_for("connected to the database again")
        claim_again(database, *ids)
        worker.hand(*ids)
        assert worker.lines(3) == ["0", "0", "0"]


@pytest.fixture
def limited(database: Database) -> Iterator[str]:
    """The libpq string of a role that may have one connection."""
    name = f"pepsi_limited_{database.value('SELECT pg_backend_pid()')}"
    database.rows(f"CREATE ROLE {name} LOGIN CONNECTION LIMIT 1 PASSWORD 'x'")
    database.rows(f"GRANT USAGE ON SCHEMA pepsi TO {name}")
    database.rows(f"GRANT ALL ON ALL TABLES IN SCHEMA pepsi TO {name}")
    yield name
    database.rows(f"DROP OWNED BY {name}")
    database.rows(f"DROP ROLE {name}")


def as_role(database: Database, role: str) -> str:
    return make_dsn(database.dsn, user=role, password="x")


def test_a_connection_limit_at_the_start_ends_the_worker_with_75_before_it_is_ready(
    configure: Configure, database: Database, limited: str
) -> None:
    dsn = as_role(database, limited)
    with closing(psycopg2.connect(dsn)), odd(configure(dsn=dsn)) as worker:
        assert worker.line() == ""
        assert worker.end() == 75
        assert worker.stderr.startswith("no database connection: ")
        assert worker.stderr.count("\n") == 1


def test_a_connection_limit_met_later_is_answered_75(
    configure: Configure, database: Database, limited: str, gate: Gate
) -> None:
    dsn = as_role(database, limited)
    with odd(configure(f"GATE = {gate.path}", dsn=dsn)) as worker:
        first, second = put(database, "wait", "advance")
        worker.hand(first)
        gate.reached()
        cut(database)
        with closing(psycopg2.connect(dsn)):
            worker.hand(second)
            gate.open()
            assert [line.split()[0] for line in worker.lines(3)] == ["ready", "74", "75"]
            worker.wait_for("too many connections")
