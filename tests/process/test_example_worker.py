"""The worker in POSIX sh that is shipped as an example keeps the protocol."""

import shutil
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support_database import Database
from tests.support_worker import EPOCH, ROOT, TOKEN, Worker, claim_again, put, row, running

pytestmark = pytest.mark.skipif(shutil.which("psql") is None, reason="there is no psql")

SCRIPT = str(ROOT / "examples" / "worker.sh")


@pytest.fixture
def denied(tmp_path: Path) -> Path:
    file = tmp_path / "denied"
    file.write_text("mallory@example.com\nit's$(touch x) \"quoted\" :'id'@example.com\n")
    return file


def sh(database: Database, denied: Path) -> AbstractContextManager[Worker]:
    command = ["sh", SCRIPT, database.dsn, str(denied), "next", "-c", "pepsi.conf", "worker"]
    return running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH))


def test_it_answers_in_order_and_leaves_each_row_where_it_belongs(database: Database, denied: Path) -> None:
    with sh(database, denied) as worker:
        (good,) = put(database, "x")
        (bad,) = put(database, "x", mail_from="Mallory@example.com")
        (null,) = put(database, "x", mail_from="")
        (odd,) = put(database, "x", mail_from="it's$(touch x) \"quoted\" :'id'@example.com")
        (harmless,) = put(database, "x", mail_from="-e .* * \\ '; DROP TABLE pepsi.workqueue; --")
        worker.hand(good, bad, null, odd, harmless)
        assert worker.lines(6) == ["ready", "0", "65 sender is denied", "0", "65 sender is denied", "0"]
        for number in (good, null, harmless):
            assert (row(database, number)["status"], row(database, number)["stage"]) == ("pending", "next")
        assert row(database, bad)["state"] == {
            "last_error": "denied: Mallory@example.com",
            "failed_stage": "work",
            "failure_class": "permanent",
        }
        assert row(database, odd)["status"] == "failed"
        worker.close_input()
        assert worker.line() == ""
        assert worker.end() == 0
        assert worker.stderr == ""


def test_a_list_that_cannot_be_read_is_the_hosts_fault(database: Database, tmp_path: Path) -> None:
    with sh(database, tmp_path / "none") as worker:
        (number,) = put(database, "x")
        worker.hand(number)
        assert worker.lines(2) == ["ready", "0"]
        assert row(database, number)["status"] == "paused"
        assert row(database, number)["state"]["last_error"].startswith("cannot read ")


def test_a_row_of_another_epoch_is_left_alone(database: Database, denied: Path) -> None:
    with sh(database, denied) as worker:
        (number,) = put(database, "x", token=TOKEN + (1 << 40))
        before = row(database, number)
        worker.hand(number, 2**62)
        assert worker.lines(3) == ["ready", "0", "0"]
        assert row(database, number) == before


def test_a_lost_database_is_answered_74_and_the_next_message_is_tried_anew(database: Database, denied: Path) -> None:
    with sh(database, denied) as worker:
        assert worker.line() == "ready"
        (number,) = put(database, "x")
        database.rows("ALTER FUNCTION pepsi.workqueue_load RENAME TO workqueue_lead")
        worker.hand(number)
        assert worker.line() == "74"
        database.rows("ALTER FUNCTION pepsi.workqueue_lead RENAME TO workqueue_load")
        claim_again(database, number)
        worker.hand(number)
        assert worker.line() == "0"


def test_sigterm_ends_it_when_it_has_nothing_to_do(database: Database, denied: Path) -> None:
    with sh(database, denied) as worker:
        assert worker.line() == "ready"
        worker.process.terminate()
        assert worker.line() == ""
        assert worker.end() == 0


def test_a_line_that_is_no_id_ends_it(database: Database, denied: Path) -> None:
    with sh(database, denied) as worker:
        assert worker.process.stdin is not None
        worker.process.stdin.write(b"1; DROP\n")
        worker.process.stdin.flush()
        assert worker.lines(2) == ["ready", ""]
        assert worker.end() == 1


def test_without_a_database_it_ends_with_1_before_it_is_ready(tmp_path: Path, denied: Path) -> None:
    command = ["sh", SCRIPT, f"host={tmp_path}", str(denied), "next", "worker"]
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH="5") as worker:
        assert worker.line() == ""
        assert worker.end() == 1


def test_it_begins_nothing_more_once_its_dispatcher_is_dead(database: Database, denied: Path) -> None:
    parent = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    command = [sys.executable, "-c", parent, "sh", SCRIPT, database.dsn, str(denied), "next", "worker"]
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        assert worker.line() == "ready"
        worker.process.kill()
        worker.process.wait()
        (number,) = put(database, "x")
        worker.hand(number)
        assert worker.line() == ""
        assert row(database, number)["claim"] == TOKEN


def test_the_tests_of_the_example_stage_pass() -> None:
    done = subprocess.run(
        [sys.executable, "-bb", "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/tag-stage"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
