"""The schema in the database against the files: told apart, installed, upgraded, and never left half changed."""

import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pepsi.db import leadership, schema
from pepsi.db.schema import SQL, SqlFile, Verdict
from pepsi.db.session import DISPATCHER_LOCK, SETUP_LOCK
from pepsi.errors import EX_CONFIG, SchemaError
from pepsi.tools.schema import SetupFailed, drop, ensure, install, state_of, upgrade
from tests.support_database import Database, new_database

FIRST = """
CREATE SCHEMA IF NOT EXISTS pepsi;
CREATE TABLE pepsi.schema_release (release bigint PRIMARY KEY, file text, digest text);
CREATE TABLE pepsi.marks (mark text CHECK (mark <> '100%'));
"""
SECOND = "ALTER TABLE pepsi.marks ADD two int; INSERT INTO pepsi.marks VALUES ('second');"
THIRD = "INSERT INTO pepsi.marks VALUES ('third'); ALTER TABLE pepsi.marks DROP two; SELECT 1 / 0;"


@pytest.fixture
def empty(server: str) -> Iterator[Database]:
    """A database without a schema."""
    with new_database(server) as database:
        yield database


def files(directory: Path, *texts: str) -> tuple[SqlFile, ...]:
    for number, text in enumerate(texts, 1):
        (directory / f"{number:04}_step.sql").write_text(text)
    return schema.shipped(directory)


def test_the_shipped_schema_is_current_where_it_was_installed(database: Database) -> None:
    state = state_of(database.connect(), schema.shipped())
    assert state.verdict is Verdict.CURRENT
    schema.require(state)


def test_an_empty_database_is_missing_the_schema(empty: Database) -> None:
    state = state_of(empty.connect(), schema.shipped())
    assert state.verdict is Verdict.MISSING
    with pytest.raises(SchemaError, match="'pepsi-setup schema install'") as caught:
        schema.require(state)
    assert caught.value.exit_status == EX_CONFIG


def test_an_older_schema_is_told_and_upgraded(empty: Database, tmp_path: Path) -> None:
    connection = empty.connect()
    install(connection, files(tmp_path, FIRST), roles=False)
    newer = files(tmp_path, FIRST, SECOND)
    state = state_of(connection, newer)
    assert (state.verdict, state.release, state.shipped) == (Verdict.OLDER, 1, 2)
    assert "'pepsi-setup schema upgrade'" in str(state)
    with pytest.raises(SchemaError, match="upgrade"):
        install(connection, newer, roles=False)
    assert upgrade(connection, newer) == "upgraded the schema from release 1 to 2"
    assert state_of(connection, newer).verdict is Verdict.CURRENT
    assert empty.rows("SELECT mark, two FROM pepsi.marks") == [("second", None)]


def test_a_newer_schema_is_told_and_left_alone(empty: Database, tmp_path: Path) -> None:
    connection = empty.connect()
    install(connection, files(tmp_path, FIRST, SECOND), roles=False)
    (tmp_path / "0002_step.sql").unlink()
    older = files(tmp_path, FIRST)
    state = state_of(connection, older)
    assert (state.verdict, state.release, state.shipped) == (Verdict.NEWER, 2, 1)
    assert "newer Pepsi" in str(state)
    for change in (ensure, upgrade):
        with pytest.raises(SchemaError, match="newer Pepsi"):
            change(connection, older)


def test_an_altered_file_is_told_by_its_name(empty: Database, tmp_path: Path) -> None:
    connection = empty.connect()
    install(connection, files(tmp_path, FIRST, SECOND), roles=False)
    altered = files(tmp_path, FIRST + "-- a word\n", SECOND, SECOND)
    state = state_of(connection, altered)
    assert (state.verdict, state.altered) == (Verdict.ALTERED, "0001_step.sql")
    with pytest.raises(SchemaError, match=re.escape("0001_step.sql")):
        ensure(connection, altered)


def test_a_record_with_a_gap_is_an_altered_one(empty: Database, tmp_path: Path) -> None:
    both = files(tmp_path, FIRST, SECOND)
    assert schema.verdict([(2, both[1].digest)], both).altered == "0001_step.sql"


def test_a_failed_upgrade_leaves_the_old_release_whole(empty: Database, tmp_path: Path) -> None:
    connection = empty.connect()
    good = files(tmp_path, FIRST, SECOND)
    install(connection, good, roles=False)
    bad = files(tmp_path, FIRST, SECOND, THIRD)
    with pytest.raises(SetupFailed, match=r"0003_step\.sql failed, release 2 stands as it was: division by zero"):
        upgrade(connection, bad)
    assert state_of(connection, good).verdict is Verdict.CURRENT
    assert empty.rows("SELECT mark, two FROM pepsi.marks") == [("second", None)]


def test_an_upgrade_that_fails_half_way_goes_on_from_there(empty: Database, tmp_path: Path) -> None:
    connection = empty.connect()
    with pytest.raises(SetupFailed, match="release 2 stands"):
        ensure(connection, files(tmp_path, FIRST, SECOND, THIRD))
    mended = files(tmp_path, FIRST, SECOND, THIRD.replace("SELECT 1 / 0;", ""))
    assert ensure(connection, mended) == "upgraded the schema from release 2 to 3"
    assert empty.rows("SELECT mark FROM pepsi.marks") == [("second",), ("third",)]


def test_two_that_install_at_once_do_it_once(empty: Database) -> None:
    said: list[str] = []

    def work() -> None:
        said.append(ensure(empty.connect(), schema.shipped()))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(text.split()[0] for text in said) == ["installed", "the", "the"]


def test_a_schema_is_not_dropped_under_a_dispatcher(database: Database) -> None:
    dispatcher = database.connect("pepsi-dispatch")
    with dispatcher.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", DISPATCHER_LOCK)
    with pytest.raises(SetupFailed, match=f"server process {dispatcher.info.backend_pid}"):
        drop(database.connect())
    dispatcher.close()
    assert state_of(database.connect(), schema.shipped()).verdict is Verdict.CURRENT


def test_a_dropped_schema_is_gone_and_can_be_made_again(database: Database) -> None:
    assert drop(database.connect()).startswith("dropped")
    assert drop(database.connect()).startswith("the database holds no schema")
    assert ensure(database.connect(), schema.shipped()).startswith("installed")


def test_a_database_that_is_not_in_utf8_is_refused(server: str) -> None:
    with new_database(server, template="template0 ENCODING 'LATIN1' LOCALE 'C'") as database:
        with pytest.raises(SetupFailed, match=r"LATIN1.*database create"):
            ensure(database.connect(), schema.shipped())
        assert not database.value("SELECT to_regnamespace('pepsi') IS NOT NULL")


def test_both_locks_are_of_the_same_class_and_differ() -> None:
    assert DISPATCHER_LOCK == (1885696115, 1)
    assert SETUP_LOCK[0] == DISPATCHER_LOCK[0] and SETUP_LOCK != DISPATCHER_LOCK
    assert leadership.try_lock().params == {"class": 1885696115, "object": 1}


@pytest.mark.parametrize("names", [["0002_b.sql"], ["0001_a.sql", "0003_c.sql"], ["0001_a.sql", "0001_b.sql"], []])
def test_files_must_be_numbered_without_a_gap(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("SELECT 1")
    with pytest.raises(SchemaError):
        schema.shipped(tmp_path)


def test_the_files_hold_no_transaction_of_their_own() -> None:
    for file in schema.shipped():
        assert not re.search(
            r"^\s*(COMMIT|ROLLBACK|START TRANSACTION|BEGIN\s*;)", file.text, re.MULTILINE | re.IGNORECASE
        )


def test_a_digest_is_that_of_the_bytes_of_the_file(tmp_path: Path) -> None:
    shutil.copy(SQL / "0001_initial.sql", tmp_path)
    assert schema.shipped(tmp_path)[0].digest == schema.shipped()[0].digest
