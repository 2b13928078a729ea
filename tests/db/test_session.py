"""Sessions on a real server: pinned, and their errors told apart."""

import psycopg2
import pytest

from pepsi.db import sync
from pepsi.db.faults import Fault, fault_of
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from tests.support_database import Database

HOSTILE_DEFAULTS = {
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "statement_timeout": "1",
    "lock_timeout": "1",
    "idle_session_timeout": "1000",
    "idle_in_transaction_session_timeout": "1000",
    "standard_conforming_strings": "off",
    "TimeZone": "Asia/Tokyo",
    "DateStyle": "German",
    "IntervalStyle": "iso_8601",
    "bytea_output": "escape",
    "search_path": "nowhere",
    "jit": "on",
    "plan_cache_mode": "force_custom_plan",
    "synchronous_commit": "off",
    "client_encoding": "LATIN1",
}


def test_defaults_of_the_database_do_not_reach_a_session(database: Database) -> None:
    name = database.value("SELECT current_database()")
    for setting, value in HOSTILE_DEFAULTS.items():
        database.rows(f"ALTER DATABASE {name} SET {setting} = '{value}'")
    connection = database.connect("pepsi-pinned", statement_timeout=7.5)
    found = {setting: sync.run(connection, Statement(f"SHOW {setting}"))[0][0] for setting in HOSTILE_DEFAULTS}
    assert found == {
        "default_transaction_isolation": "read committed",
        "default_transaction_read_only": "off",
        "statement_timeout": "7500ms",
        "lock_timeout": "0",
        "idle_session_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
        "standard_conforming_strings": "on",
        "TimeZone": "UTC",
        "DateStyle": "ISO, YMD",
        "IntervalStyle": "postgres",
        "bytea_output": "hex",
        "search_path": "pg_catalog",
        "jit": "off",
        "plan_cache_mode": "force_generic_plan",
        "synchronous_commit": "on",
        "client_encoding": "UTF8",
    }
    assert sync.run(connection, Statement("SELECT %(text)s, current_setting('application_name')", {"text": "ü漢"})) == [
        ("ü漢", "pepsi-pinned")
    ]


def test_a_worker_need_not_wait_for_the_disk(database: Database) -> None:
    connection = database.connect(synchronous_commit=False)
    assert sync.run(connection, Statement("SHOW synchronous_commit")) == [("off",)]


def test_a_cut_session_is_a_lost_one(database: Database) -> None:
    connection = database.connect()
    database.connect()
    pid = connection.info.backend_pid
    sync.run(database.connect(), Statement("SELECT pg_terminate_backend(%(pid)s)", {"pid": pid}))
    for _ in range(2):
        with pytest.raises(psycopg2.Error) as caught:
            sync.run(connection, Statement("SELECT 1"))
        assert fault_of(caught.value) is Fault.LOST


def test_a_server_that_is_not_there_is_a_lost_one(database: Database) -> None:
    with pytest.raises(psycopg2.Error) as caught:
        sync.connect(Parameters(dsn="host=/nonexistent", application_name="a"))
    assert fault_of(caught.value) is Fault.LOST


def test_a_full_server_is_not_a_lost_one(database: Database) -> None:
    name = database.value("SELECT current_database()")
    database.rows("CREATE ROLE pepsi_test_crowd LOGIN CONNECTION LIMIT 0")
    try:
        with pytest.raises(psycopg2.Error) as caught:
            sync.connect(Parameters(dsn=f"{database.dsn} user=pepsi_test_crowd dbname={name}", application_name="a"))
    finally:
        database.rows("DROP ROLE pepsi_test_crowd")
    assert fault_of(caught.value) is Fault.LIMIT


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57014'; END $$", Fault.CANCELLED),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53300'; END $$", Fault.LIMIT),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '25006'; END $$", Fault.READ_ONLY),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$", Fault.RETRY),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$", Fault.RETRY),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '55P03'; END $$", Fault.RETRY),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57P01'; END $$", Fault.LOST),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '08006'; END $$", Fault.LOST),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$", Fault.OTHER),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '42501'; END $$", Fault.OTHER),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '23505'; END $$", Fault.DATA),
        ("SELECT nonsense", Fault.OTHER),
        ("SELECT 1 / 0", Fault.DATA),
        ("SELECT 'x'::integer", Fault.DATA),
        ("UPDATE pepsi.dispatch_stats SET stages_executed = NULL", Fault.DATA),
    ],
)
def test_each_error_is_of_its_kind(database: Database, statement: str, fault: Fault) -> None:
    with pytest.raises(psycopg2.Error) as caught:
        sync.run(database.connect(), Statement(statement), sleep=lambda seconds: None)
    assert fault_of(caught.value) is fault


def test_what_is_no_error_of_the_driver_is_other() -> None:
    assert fault_of(ValueError()) is Fault.OTHER
    assert fault_of(psycopg2.InterfaceError()) is Fault.LOST
    assert fault_of(psycopg2.DatabaseError()) is Fault.LOST
    assert fault_of(psycopg2.ProgrammingError()) is Fault.OTHER


def test_a_statement_that_lost_a_deadlock_runs_again(database: Database) -> None:
    database.rows("CREATE SEQUENCE public.tries")
    slept: list[float] = []
    text = """
        DO $$ BEGIN
            IF nextval('public.tries') < 4 THEN RAISE EXCEPTION USING ERRCODE = '40P01'; END IF;
        END $$
    """
    assert sync.run(database.connect(), Statement(text), sleep=slept.append) == []
    assert len(slept) == 3
    assert sorted(slept)[0] > 0


def test_a_statement_inside_a_transaction_is_not_run_again(database: Database) -> None:
    database.rows("CREATE SEQUENCE public.tries")
    connection = database.connect()
    sync.run(connection, Statement("BEGIN"))
    text = "DO $$ BEGIN PERFORM nextval('public.tries'); RAISE EXCEPTION USING ERRCODE = '40001'; END $$"
    with pytest.raises(psycopg2.errors.SerializationFailure):
        sync.run(connection, Statement(text))
    assert database.value("SELECT last_value FROM public.tries") == 1


def test_a_fault_that_does_not_go_away_is_passed_on(database: Database) -> None:
    slept: list[float] = []
    text = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$"
    with pytest.raises(psycopg2.errors.SerializationFailure):
        sync.run(database.connect(), Statement(text), sleep=slept.append)
    assert len(slept) == sync.TRIES - 1
