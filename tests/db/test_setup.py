"""The command pepsi-setup, as it is typed."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import psycopg2
import pytest
from psycopg2.extensions import make_dsn

from pepsi.db.session import DISPATCHER_LOCK
from pepsi.tools.setup import confirmed, main
from tests.support_database import Database, new_database

CONFIG = """
[pepsi]
HOSTNAME = mail.example.org
STATE_DIRECTORY = {state}
[pepsi-postgres]
DSN = {dsn}
[pepsi-ingress]
ENTRY_STAGE = a
[stage-a]
PROGRAM = pepsi-stage-discard
"""

Setup = Callable[..., tuple[int, str, str]]


@pytest.fixture
def empty(server: str) -> Iterator[Database]:
    """A database without a schema."""
    with new_database(server) as database:
        yield database


@pytest.fixture
def configure(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a configuration file for a DSN."""

    def write(dsn: str, state: Path = tmp_path) -> Path:
        file = tmp_path / "pepsi.conf"
        file.write_text(CONFIG.format(dsn=dsn, state=state))
        return file

    return write


@pytest.fixture
def setup(empty: Database, configure: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> Setup:
    """Runs the command on an empty database; gives status, output and errors."""
    file = configure(empty.dsn)

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(["-c", str(file), *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_a_bare_schema_installs_and_then_has_nothing_to_do(setup: Setup) -> None:
    status, out, err = setup("schema")
    assert (status, out.startswith("installed release"), err) == (0, True, "")
    status, out, err = setup("schema")
    assert (status, out.startswith("the database holds release"), err) == (0, True, "")


def test_a_check_tells_scripts_by_its_status(setup: Setup) -> None:
    assert setup("schema", "check")[0] == 78
    missing = json.loads(setup("schema", "check", "--json")[1])
    assert (missing["verdict"], missing["release"], missing["altered"]) == ("missing", 0, None)
    setup("schema", "install")
    assert setup("schema", "check")[0] == 0
    assert json.loads(setup("schema", "check", "--json")[1])["verdict"] == "current"


def test_an_upgrade_of_nothing_says_how_to_install(setup: Setup) -> None:
    status, _, err = setup("schema", "upgrade")
    assert status == 78
    assert "pepsi-setup schema install" in err


def test_nothing_is_dropped_unasked(setup: Setup, empty: Database) -> None:
    setup("schema")
    status, _, err = setup("schema", "drop")
    assert (status, "--yes" in err) == (2, True)
    assert empty.value("SELECT count(*) FROM pepsi.workqueue") == 0
    assert setup("schema", "drop", "--yes")[0] == 0
    assert setup("schema", "check")[0] == 78


def test_a_live_dispatcher_saves_the_schema(setup: Setup, empty: Database) -> None:
    setup("schema")
    with empty.connect().cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", DISPATCHER_LOCK)
    status, _, err = setup("schema", "drop", "--yes")
    assert (status, "stop it first" in err) == (1, True)
    assert setup("schema", "check")[0] == 0


class Terminal(StringIO):
    """A terminal at which somebody types."""

    def isatty(self) -> bool:
        return True


def test_only_the_name_typed_at_a_terminal_confirms() -> None:
    assert confirmed("?", "mail", Terminal("mail\n"))
    assert not confirmed("?", "mail", Terminal("yes\n"))
    assert not confirmed("?", "mail", Terminal(""))
    assert not confirmed("?", "mail", StringIO("mail\n"))


def test_a_database_is_created_once(
    server: str, configure: Callable[[str], Path], capsys: pytest.CaptureFixture[str], empty: Database
) -> None:
    name = f'{empty.value("SELECT current_database()")} "x'
    file = configure(make_dsn(server, dbname=name))
    try:
        assert main(["-c", str(file), "database", "create"]) == 0
        assert main(["-c", str(file), "schema"]) == 0
        assert main(["-c", str(file), "database", "create"]) == 0
        assert "exists already" in capsys.readouterr().out
    finally:
        connection = psycopg2.connect(server)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute('DROP DATABASE "' + name.replace('"', '""') + '"')
        connection.close()


def test_who_may_not_make_databases_is_told_what_to_have_done(
    server: str, configure: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    connection = psycopg2.connect(server)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute("CREATE ROLE pepsi_test_of_no_rights")
            file = configure(make_dsn(server, dbname="never there", options="-c role=pepsi_test_of_no_rights"))
            assert main(["-c", str(file), "database", "create"]) == 1
            cursor.execute("DROP ROLE pepsi_test_of_no_rights")
    finally:
        connection.close()
    said = capsys.readouterr().err
    assert said.startswith("pepsi-setup: the role pepsi_test_of_no_rights may not make databases")
    assert said.endswith("--locale=C -O pepsi_test_of_no_rights 'never there'\n")


def test_the_doctor_finds_what_is_missing_and_what_is_well(setup: Setup) -> None:
    status, out, _ = setup("doctor")
    assert status == 1
    assert "bad    the database holds no schema of Pepsi\n       'pepsi-setup schema install' makes it" in out
    setup("schema")
    findings = json.loads(setup("doctor", "--json")[1])
    grades = {finding["what"]: finding["grade"] for finding in findings}
    assert any(what.startswith("the database holds release") and grade == "good" for what, grade in grades.items())
    assert any(what.startswith("up to ") and grade == "good" for what, grade in grades.items())


def test_the_doctor_knows_stages_that_stand_in_the_database_alone(setup: Setup, empty: Database) -> None:
    setup("schema")
    empty.rows("INSERT INTO pepsi.config_override (section, key, value) VALUES ('stage-a', 'PARALLELISM', '900')")
    status, out, _ = setup("doctor")
    assert status == 1
    assert "workers 900" in out
    assert "lower PARALLELISM, which is 900 for [stage-a]" in out


def test_the_doctor_names_stages_at_which_nobody_takes_mail(setup: Setup, empty: Database) -> None:
    setup("schema")
    for stage in ("gone", "a"):
        empty.rows("SELECT pepsi.workqueue_inject(%(s)s, '', '{b@example.org}', '', '', '')", s=stage)
    status, out, _ = setup("doctor")
    assert status == 1
    assert out.count("messages wait") == 1
    assert "1 messages wait at gone, which has no section [stage-gone]" in out


def test_the_doctor_names_a_table_that_is_never_vacuumed(setup: Setup, empty: Database) -> None:
    setup("schema")
    empty.rows("ALTER TABLE pepsi.workqueue SET (autovacuum_enabled = false)")
    status, out, _ = setup("doctor")
    assert status == 1
    assert "autovacuum is told to leave pepsi.workqueue alone" in out


@pytest.mark.parametrize("words", [["schema", "-c", "x"], ["schema", "wipe"], [], ["--verb"], ["database"]])
def test_a_command_line_that_cannot_be_read_is_a_usage_error(setup: Setup, words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        setup(*words)
    assert caught.value.code == 2


def test_a_server_that_is_not_there_is_said_in_one_sentence(
    configure: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = configure("host=/nonexistent password=hunter2 dbname=a")
    assert main(["-c", str(file), "schema"]) == 69
    assert main(["-c", str(file), "doctor"]) == 69
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "check [pepsi-postgres] DSN" in captured.err
    assert "hunter2" not in captured.err + captured.out


def test_a_private_server_is_run_for_the_command(
    state_directory: Path, configure: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = configure("embedded", state_directory)
    assert main(["-c", str(file), "schema"]) == 0
    assert main(["-c", str(file), "schema", "check"]) == 0
    assert capsys.readouterr().out.startswith("installed release")
    assert not (state_directory / "postgres" / "connection").exists()
