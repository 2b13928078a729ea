"""Workers as a dispatcher sees them: a pipe, an exit status, and rows that moved."""

import os
import signal
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pepsi.model import claim
from tests.process.conftest import Configure, Gate
from tests.support_database import Database
from tests.support_worker import EPOCH, TOKEN, Worker, claim_again, program, put, row, running


def odd(config: str) -> AbstractContextManager[Worker]:
    return running(
        program("tests.process.odd_stage", "-c", config, "worker"), PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)
    )


def test_the_first_line_is_ready_and_the_session_bears_the_name_of_the_stage(
    configure: Configure, database: Database
) -> None:
    with odd(configure()) as worker:
        assert worker.line() == "ready"
        names = database.rows(
            "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'pepsi-stage-%%'"
        )
        assert names == [("pepsi-stage-work",)]
        worker.close_input()
        assert worker.line() == ""
        assert worker.end() == 0
        assert worker.stderr == ""


def test_ids_are_answered_in_order_and_each_row_gets_its_own_outcome(configure: Configure, database: Database) -> None:
    subjects = ("advance", "finish", "pause", "refuse", "requeue", "rewrite", "later", "advance")
    with odd(configure()) as worker:
        ids = put(database, *subjects)
        worker.hand(*ids)
        assert worker.line() == "ready"
        assert worker.lines(8) == ["0", "0", "0", "65 not like \ufffd this", "0", "0", "0", "0"]
        found = dict(database.rows("SELECT workqueue_id, status || ' ' || stage FROM pepsi.workqueue"))
        assert [found.get(number) for number in ids] == [
            "pending next",
            None,
            "paused work",
            "failed work",
            "pending work",
            "pending next",
            "paused work",
            "pending next",
        ]


def test_what_a_stage_prints_never_reaches_the_dispatcher(configure: Configure, database: Database) -> None:
    with odd(configure()) as worker:
        worker.hand(*put(database, "noise", "refuse"))
        assert worker.lines(3) == ["ready", "0", "65 not like \ufffd this"]
        worker.close_input()
        assert worker.line() == ""
        worker.wait_for("65 noise")


def test_sigterm_ends_an_idle_worker(configure: Configure) -> None:
    with odd(configure()) as worker:
        assert worker.line() == "ready"
        worker.process.terminate()
        assert worker.line() == ""
        assert worker.end() == 0


def test_sigterm_lets_the_message_in_hand_be_finished_and_answered_and_no_other_begun(
    configure: Configure, database: Database, gate: Gate
) -> None:
    with odd(configure(f"GATE = {gate.path}")) as worker:
        first, second = put(database, "wait", "advance")
        worker.hand(first, second)
        gate.reached()
        worker.process.terminate()
        worker.process.terminate()
        gate.open()
        assert worker.lines(3) == ["ready", "0", ""]
        assert worker.end() == 0
        assert row(database, first)["stage"] == "next"
        assert row(database, second)["claim"] == TOKEN


def test_sigint_is_nothing_to_a_worker(configure: Configure, database: Database, gate: Gate) -> None:
    with odd(configure(f"GATE = {gate.path}")) as worker:
        worker.hand(*put(database, "wait"))
        gate.reached()
        worker.process.send_signal(signal.SIGINT)
        gate.open()
        assert worker.lines(2) == ["ready", "0"]
        worker.hand(*put(database, "advance"))
        assert worker.line() == "0"


def test_input_that_ends_with_ids_unread_means_a_dead_dispatcher_so_no_more_is_begun(
    configure: Configure, database: Database, gate: Gate
) -> None:
    with odd(configure(f"GATE = {gate.path}")) as worker:
        first, second, third = put(database, "wait", "advance", "advance")
        worker.hand(first, second)
        gate.reached()
        worker.hand(third)
        worker.close_input()
        gate.open()
        assert worker.lines(3) == ["ready", "0", ""]
        assert worker.end() == 1
        assert row(database, first)["stage"] == "next"
        assert [row(database, number)["claim"] for number in (second, third)] == [TOKEN, TOKEN]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
def test_a_worker_whose_parent_is_killed_finishes_its_message_and_ends(
    configure: Configure, database: Database, gate: Gate
) -> None:
    parent = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    command = program("tests.process.odd_stage", "-c", configure(f"GATE = {gate.path}"), "worker")
    environ = {"PEPSI_STAGE": "work", "PEPSI_EPOCH": str(EPOCH)}
    with running([sys.executable, "-c", parent, *command], **environ) as worker:
        first, second = put(database, "wait", "advance")
        worker.hand(first, second)
        gate.reached()
        worker.process.kill()
        worker.process.wait()
        gate.open()
        assert worker.lines(3) == ["ready", "0", ""]
        assert row(database, first)["stage"] == "next"
        assert row(database, second)["claim"] == TOKEN


def test_a_worker_whose_answer_nobody_reads_ends(configure: Configure, database: Database, gate: Gate) -> None:
    with odd(configure(f"GATE = {gate.path}")) as worker:
        worker.hand(*put(database, "wait"))
        gate.reached()
        assert worker.process.stdout is not None
        worker.process.stdout.close()
        gate.open()
        assert worker.end() == 1
        worker.wait_for("the dispatcher is gone")


@pytest.mark.parametrize("line", [b"x\n", b"-1\n", b"1 2\n", b"\n", b"9" * 100])
def test_a_line_that_is_no_id_ends_the_worker(configure: Configure, line: bytes) -> None:
    with odd(configure()) as worker:
        assert worker.process.stdin is not None
        worker.process.stdin.write(line)
        worker.process.stdin.flush()
        assert worker.lines(2) == ["ready", ""]
        assert worker.end() == 1
        worker.wait_for("is not a message id")


def test_a_row_that_is_claimed_anew_while_it_is_worked_on_is_not_touched(
    configure: Configure, database: Database, gate: Gate
) -> None:
    with odd(configure(f"GATE = {gate.path}")) as worker:
        (number,) = put(database, "wait")
        worker.hand(number)
        gate.reached()
        claim_again(database, number, token=TOKEN + 1)
        before = row(database, number)
        gate.open()
        assert worker.lines(2) == ["ready", "0"]
        assert row(database, number) == before
        worker.wait_for(f"message {number} is no longer this worker's")


def test_a_row_that_is_not_ours_to_run_is_left_alone_with_a_warning(configure: Configure, database: Database) -> None:
    with odd(configure()) as worker:
        (other_epoch,) = put(database, "advance", token=claim.pack(EPOCH + 1, 1))
        (other_stage,) = put(database, "advance", stage="next")
        (pending,) = put(database, "advance")
        database.rows(
            "UPDATE pepsi.workqueue SET status = 'pending', claim = NULL WHERE workqueue_id = %(id)s", id=pending
        )
        before = [row(database, number) for number in (other_epoch, other_stage, pending)]
        worker.hand(other_epoch, other_stage, pending, 2**62)
        assert worker.lines(5) == ["ready", "0", "0", "0", "0"]
        assert [row(database, number) for number in (other_epoch, other_stage, pending)] == before
        worker.wait_for(f"message {other_epoch} is left alone: it was claimed in epoch 6, and this worker is of 5")
        worker.wait_for(f"message {other_stage} is left alone: it runs at the stage next")
        worker.wait_for(f"message {pending} is left alone: it is not running")
        worker.wait_for(f"message {2**62} is left alone: it is not running")


@pytest.mark.parametrize("subject", ["memory", "leave"])
def test_what_leaves_the_process_in_doubt_ends_it_with_the_message_unanswered(
    configure: Configure, database: Database, subject: str
) -> None:
    with odd(configure()) as worker:
        (number,) = put(database, subject)
        worker.hand(number)
        assert worker.lines(2) == ["ready", ""]
        assert worker.end() == 70
        worker.wait_for("Traceback")
        assert row(database, number)["claim"] == TOKEN


@pytest.mark.parametrize(
    ("acts_outside", "postgres", "expected"),
    [("no", "", "off"), ("no", "WORKER_SYNCHRONOUS_COMMIT = yes", "on"), ("yes", "", "on")],
)
def test_outcomes_wait_for_the_disk_where_they_are_told_to_or_something_happened_outside(
    configure: Configure, database: Database, acts_outside: str, postgres: str, expected: str
) -> None:
    database.rows(
        "CREATE FUNCTION pepsi.witness() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "NEW.state := jsonb_build_object('commit', current_setting('synchronous_commit')); RETURN NEW; END $$"
    )
    (number,) = put(database, "advance")
    database.rows(
        "CREATE TRIGGER witness BEFORE UPDATE ON pepsi.workqueue FOR EACH ROW EXECUTE FUNCTION pepsi.witness()"
    )
    module = "tests.process.odd_stage" if acts_outside == "no" else "tests.process.outside_stage"
    command = program(module, "-c", configure(postgres=postgres), "worker")
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        worker.hand(number)
        assert worker.lines(2) == ["ready", "0"]
        assert row(database, number)["state"] == {"commit": expected}


def test_standard_input_and_output_of_a_worker_lead_away_from_the_dispatcher(
    configure: Configure, database: Database
) -> None:
    with odd(configure()) as worker:
        assert worker.line() == "ready"
        descriptors = Path(f"/proc/{worker.process.pid}/fd")
        if not descriptors.exists():
            pytest.skip("there is no /proc")
        assert (descriptors / "0").readlink() == Path(os.devnull)
        assert (descriptors / "1").readlink() == (descriptors / "2").readlink()
