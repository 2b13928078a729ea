"""Real workers that do the next stage's work, too."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.process.conftest import Configure, Gate
from tests.support_database import Database
from tests.support_worker import EPOCH, Worker, program, put, row, running


@contextmanager
def working(module: str, config: str) -> Iterator[Worker]:
    command = program(f"tests.process.{module}", "-c", config, "worker")
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        assert worker.line().startswith("ready")
        yield worker


def names(line: str) -> list[str]:
    """Return the stages that a status line of 0 reports."""
    code, _, report = line.partition(" ")
    assert code == "0"
    return [part.split('"')[1] for part in report.strip("[]").split("],[")] if report else []


def test_a_worker_runs_the_next_stage_and_reports_it(configure: Configure, database: Database) -> None:
    with working("batch_stage", configure(fusion="yes")) as worker:
        ids = put(database, "advance", "finish", "advance")
        worker.hand(*ids)
        assert [names(line) for line in worker.lines(3)] == [["next"], [], ["next"]]
    assert not database.rows("SELECT FROM pepsi.workqueue")


def test_allow_fusion_of_the_file_holds_for_all(configure: Configure, database: Database) -> None:
    with working("batch_stage", configure(fusion="no")) as worker:
        (number,) = put(database, "advance")
        worker.hand(number)
        assert worker.line() == "0"
        assert (row(database, number)["stage"], row(database, number)["status"]) == ("next", "pending")


def test_what_the_database_has_of_the_next_stage_counts(configure: Configure, database: Database) -> None:
    database.rows("INSERT INTO pepsi.config_override (section, key, value) VALUES ('stage-next', 'FUSION', 'no')")
    with working("batch_stage", configure(fusion="yes")) as worker:
        (number,) = put(database, "advance")
        worker.hand(number)
        assert worker.line() == "0"


def test_keys_of_the_next_stage_that_are_wrong_are_no_error_of_this_one(
    configure: Configure, database: Database
) -> None:
    database.rows(
        "INSERT INTO pepsi.config_override (section, key, value) "
        "VALUES ('stage-next', 'PROGRAM', 'pepsi-stage-if'), ('stage-next', 'CONDITION', 'not (so')"
    )
    with working("batch_stage", configure(fusion="yes")) as worker:
        ids = put(database, "advance", "advance")
        worker.hand(*ids)
        assert worker.lines(2) == ["0", "0"]
        worker.wait_for("[stage-next] is left to a worker of its own: ")
        assert worker.stderr.count("is left to a worker of its own") == 1
    assert [row(database, number)["stage"] for number in ids] == ["next", "next"]


def test_what_was_done_outside_is_written_before_anything_else_is_begun(
    configure: Configure, database: Database
) -> None:
    with working("outside_stage", configure(fusion="yes")) as worker:
        (number,) = put(database, "send")
        worker.hand(number)
        assert worker.line() == "0"
        assert row(database, number)["stage"] == "next"


def test_a_worker_that_dies_in_the_next_stage_leaves_the_message_at_the_one_it_was_claimed_at(
    configure: Configure, database: Database, gate: Gate
) -> None:
    database.rows(
        "INSERT INTO pepsi.config_override (section, key, value) VALUES "
        "('stage-next', 'PROGRAM', 'odd'), ('stage-next', 'FUSION', 'yes'), ('stage-next', 'GATE', %(gate)s)",
        gate=str(gate.path),
    )
    with working("batch_stage", configure(f"GATE = {gate.path}", program="odd", fusion="yes")) as worker:
        (number,) = put(database, "wait")
        worker.hand(number)
        gate.reached()
        gate.open()
        gate.reached()
        worker.process.kill()
        assert worker.line() == ""
    assert (row(database, number)["stage"], row(database, number)["status"]) == ("work", "running")
