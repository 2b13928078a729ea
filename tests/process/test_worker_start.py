"""How a worker that cannot begin says so: an exit status, and one line."""

import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.process.conftest import Configure
from tests.support_database import Database, new_database
from tests.support_worker import EPOCH, Worker, program, put, row, running

ODD = "tests.process.odd_stage"


def start(config: str, module: str = ODD, stage: str = "work") -> AbstractContextManager[Worker]:
    return running(program(module, "-c", config, "worker"), PEPSI_STAGE=stage, PEPSI_EPOCH=str(EPOCH))


def refused(worker: Worker, status: int) -> str:
    """See that the worker ends with *status* and nothing on its standard output; return the one line that it said."""
    assert worker.line() == ""
    assert worker.end() == status
    assert worker.stderr.count("\n") == 1, worker.stderr
    return worker.stderr.rstrip("\n")


def test_an_unknown_key_of_the_own_section_is_a_line_that_names_it(configure: Configure) -> None:
    config = configure("KEY_FYLE = x")
    with start(config) as worker:
        line = refused(worker, 78)
    assert line == f"{config}:9: [stage-work] KEY_FYLE = x: no such key; did you mean KEY_FILE?"


def test_of_several_errors_one_is_told_and_how_to_see_the_rest(configure: Configure) -> None:
    with start(configure("A = x", "B = y", "C = z")) as worker:
        assert refused(worker, 78).endswith("no such key (and 2 more; 'check' shows all)")


def test_a_file_that_does_not_parse_is_a_line_that_names_the_place(configure: Configure) -> None:
    config = configure("PARALLELISM = many")
    with start(config) as worker:
        assert refused(worker, 78).startswith(f"{config}:9: [stage-work] PARALLELISM = many: expected a whole number")


def test_a_file_that_is_not_there_is_a_line_that_names_it(tmp_path: Path) -> None:
    with start(str(tmp_path / "none.conf")) as worker:
        assert "none.conf: cannot be read" in refused(worker, 78)


def test_a_section_that_is_not_there_is_a_line_that_names_it(configure: Configure) -> None:
    with start(configure(), stage="wurk") as worker:
        assert refused(worker, 78).endswith("there is no section [stage-wurk]; did you mean work?")


def test_what_is_set_in_the_database_counts_over_the_file(configure: Configure, database: Database) -> None:
    database.rows("INSERT INTO pepsi.config_override (section, key, value) VALUES ('stage-work', 'OPENS', 'badly')")
    with start(configure("OPENS = well")) as worker:
        assert refused(worker, 78) == "it opens badly (and 1 more; 'check' shows all)"


def test_a_stage_that_is_only_in_the_database_can_be_worked_for(configure: Configure, database: Database) -> None:
    database.rows(
        "INSERT INTO pepsi.config_override (section, key, value) "
        "VALUES ('stage-extra', 'PROGRAM', 'x'), ('stage-extra', 'NEXT_STAGE', 'next')"
    )
    with start(configure(), stage="extra") as worker:
        (number,) = put(database, "advance", stage="extra")
        worker.hand(number)
        assert worker.lines(2) == ["ready", "0"]
        assert row(database, number)["stage"] == "next"


def test_a_secret_that_cannot_be_read_is_no_fault_of_the_configuration(configure: Configure) -> None:
    with start(configure("KEY_FILE = /nowhere/key")) as worker:
        assert "/nowhere/key" in refused(worker, 1)


def test_a_bug_at_the_start_ends_with_a_traceback_and_no_status_that_means_something_else(configure: Configure) -> None:
    with start(configure("OPENS = with a bug")) as worker:
        assert worker.line() == ""
        assert worker.end() == 70
        worker.wait_for("ValueError: a bug")


def test_a_database_that_is_not_there_is_status_1(configure: Configure, tmp_path: Path) -> None:
    with start(configure(dsn=f"host={tmp_path} dbname=x")) as worker:
        assert refused(worker, 1).startswith("no database connection: ")


def test_a_database_without_a_schema_is_a_line_with_the_command_that_mends_it(
    configure: Configure, server: str
) -> None:
    with new_database(server) as empty, start(configure(dsn=empty.dsn)) as worker:
        assert "pepsi-setup schema install" in refused(worker, 78)


def test_a_schema_of_another_release_is_a_line_that_says_so(configure: Configure, database: Database) -> None:
    database.rows("INSERT INTO pepsi.schema_release (release, file, digest) VALUES (9999, 'x', 'x')")
    with start(configure()) as worker:
        assert "release 9999 of the schema, newer than" in refused(worker, 78)


@pytest.mark.parametrize(
    ("stage", "epoch", "name"), [("", "5", "PEPSI_STAGE"), ("work", "", "PEPSI_EPOCH"), ("work", "-1", "PEPSI_EPOCH")]
)
def test_a_worker_that_no_dispatcher_started_says_what_it_misses(
    configure: Configure, stage: str, epoch: str, name: str
) -> None:
    command = program(ODD, "-c", configure(), "worker")
    with running(command, PEPSI_STAGE=stage, PEPSI_EPOCH=epoch) as worker:
        assert name in refused(worker, 78)


def test_a_stage_that_cannot_be_found_is_status_78(configure: Configure) -> None:
    command = [*program("pepsi.worker.program"), "no-such-stage", "-c", configure(), "worker"]
    # Under -m the program is not called pepsi-stage, so the name comes first.
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH="5") as worker:
        assert "no stage is called 'no-such-stage'" in refused(worker, 78)


def test_a_shipped_stage_works_by_its_name(configure: Configure, database: Database) -> None:
    config = configure("CONDITION = subject == 'yes'", "THEN_STAGE = bounce", "ELSE_STAGE = next")
    command = [*program("pepsi.worker.program"), "if", "-c", config, "worker"]
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        ids = put(database, "yes", "no")
        worker.hand(*ids)
        assert worker.lines(3) == ["ready batch", "0", "0"]
        assert [row(database, number)["stage"] for number in ids] == ["bounce", "next"]


def test_a_worker_is_not_kept_by_a_parent_that_died_before_it_looked() -> None:
    script = "import os; from pepsi.worker.stopping import die_with_parent; print(die_with_parent(os.getppid() + 1))"
    with running([sys.executable, "-c", script]) as worker:
        assert worker.line() == "False"


def test_a_worker_starts_without_what_it_does_not_need(configure: Configure) -> None:
    script = (
        "import sys, atexit; atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr)); "
        "from pepsi.worker.program import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "pepsi-stage-if", "-c", configure("CONDITION = true"), "worker"]
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH="5") as worker:
        assert worker.line() == "ready batch"
        worker.close_input()
        assert worker.end() == 0
        loaded = worker.stderr
    for module in ("ssl", "email", "twisted", "argparse", "importlib.metadata", "asyncio", "traceback"):
        assert f"'{module}'" not in loaded
