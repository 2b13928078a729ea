"""What a stage did in the world outside is done once, whatever the database does meanwhile."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from psycopg2.extensions import parse_dsn

from pepsi.db import sync
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from tests.process.conftest import Configure, Gate
from tests.support_database import Database
from tests.support_program import until
from tests.support_worker import EPOCH, TOKEN, Worker, claim_again, locked, program, put, row, running

WORKERS = "FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pepsi-stage-%%'"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


@contextmanager
def outside(config: str) -> Iterator[Worker]:
    command = program("tests.process.outside_stage", "-c", config, "worker")
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        assert worker.line() == "ready"
        yield worker


def cut(database: Database) -> None:
    assert database.rows(f"SELECT pg_terminate_backend(pid, 60000) {WORKERS}") == [(True,)]


@contextmanager
def closed(database: Database, server: str) -> Iterator[None]:
    """Let nobody connect to the database."""
    name = parse_dsn(database.dsn)["dbname"]
    with closing(sync.connect(Parameters(dsn=server, application_name="pepsi-test"))) as connection:
        sync.run(connection, Statement(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
        try:
            yield
        finally:
            sync.run(connection, Statement(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))


def acted(record: Path) -> list[str]:
    return record.read_text().splitlines()


def test_a_connection_lost_while_the_stage_is_at_work_costs_no_second_act(
    configure: Configure, database: Database, gate: Gate, record: Path
) -> None:
    with outside(configure(f"GATE = {gate.path}", f"RECORD = {record}")) as worker:
        (number,) = put(database, "once")
        worker.hand(number)
        gate.reached()
        cut(database)
        gate.open()
        assert worker.line() == "0"
        assert (row(database, number)["stage"], row(database, number)["status"]) == ("next", "pending")
        assert acted(record) == ["once"]


def test_an_outcome_is_kept_while_nobody_can_connect(
    configure: Configure, database: Database, server: str, gate: Gate, record: Path
) -> None:
    with outside(configure(f"GATE = {gate.path}", f"RECORD = {record}")) as worker:
        (number,) = put(database, "once")
        worker.hand(number)
        gate.reached()
        with closed(database, server):
            cut(database)
            gate.open()
            worker.wait_for("no database connection, next attempt in")
        assert worker.line() == "0"
        assert row(database, number)["stage"] == "next"
        assert acted(record) == ["once"]


def test_a_statement_that_waited_for_a_lock_until_it_was_cancelled_is_run_again(
    configure: Configure, database: Database, record: Path
) -> None:
    config = configure(f"RECORD = {record}", postgres="STATEMENT_TIMEOUT = 1 s")
    with outside(config) as worker:
        (number,) = put(database, "once")
        with locked(database, number):
            worker.hand(number)
            worker.wait_for("kept to be written again: canceling statement due to statement timeout")
        assert worker.line() == "0"
        assert row(database, number)["stage"] == "next"
        assert acted(record) == ["once"]


def test_after_its_time_an_outcome_is_given_up_and_answered_74(
    configure: Configure, database: Database, server: str, gate: Gate
) -> None:
    with outside(configure(f"GATE = {gate.path}", "MAX_RUNTIME = 2 s")) as worker:
        (number,) = put(database, "once")
        worker.hand(number)
        gate.reached()
        with closed(database, server):
            cut(database)
            gate.open()
            assert worker.line().startswith("74 ")
        worker.wait_for("an outcome is given up")
        assert row(database, number)["claim"] == TOKEN


def test_sigterm_does_not_take_an_outcome_away(
    configure: Configure, database: Database, server: str, gate: Gate
) -> None:
    with outside(configure(f"GATE = {gate.path}")) as worker:
        (number,) = put(database, "once")
        worker.hand(number)
        gate.reached()
        with closed(database, server):
            cut(database)
            gate.open()
            worker.wait_for("no database connection, next attempt in")
            worker.process.terminate()
        assert worker.lines(2) == ["0", ""]
        assert worker.end() == 0
        assert row(database, number)["stage"] == "next"


def test_an_owed_outcome_does_not_touch_a_row_that_was_claimed_anew(
    configure: Configure, database: Database, gate: Gate
) -> None:
    with outside(configure(f"GATE = {gate.path}")) as worker:
        (number,) = put(database, "once")
        worker.hand(number)
        gate.reached()
        cut(database)
        claim_again(database, number, token=TOKEN + 1)
        before = row(database, number)
        gate.open()
        assert worker.line() == "0"
        assert row(database, number) == before


def test_nothing_is_begun_while_the_database_is_away(
    configure: Configure, database: Database, server: str, record: Path
) -> None:
    with outside(configure(f"RECORD = {record}")) as worker:
        (number,) = put(database, "never")
        with closed(database, server):
            cut(database)
            worker.wait_for("no database connection, next attempt in")
            worker.hand(number)
            assert worker.line().startswith("74 ")
        assert not record.exists()


def test_an_act_whose_outcome_can_never_be_written_is_not_repeated(
    configure: Configure, database: Database, record: Path
) -> None:
    with outside(configure(f"RECORD = {record}")) as worker:
        (number,) = put(database, "unfit")
        worker.hand(number)
        assert worker.line().startswith("65 a bug of the stage, which may have acted already: ")
        assert row(database, number)["status"] == "failed"
        until(lambda: acted(record) == ["unfit"])
