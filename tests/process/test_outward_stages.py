"""The stages that reach outside, as real workers on a real database: from the results to the rows."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.conftest import Configure
from tests.support_database import Database
from tests.support_program import until
from tests.support_worker import EPOCH, PATIENCE, Worker, claim_again, locked, program, put, running
from tests.unit.relay.sink import Dialogue, Line, Sink


@pytest.fixture
def smarthost() -> Iterator[Sink]:
    sink = Sink()
    yield sink
    sink.close()


def worker_of(stage: str, config: str) -> Any:
    command = program("pepsi.worker.program", stage, "-c", config, "worker")
    return running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH))


def handled(worker: Worker, number: int) -> str:
    worker.hand(number)
    return worker.line()


def stopped(worker: Worker) -> None:
    worker.close_input()
    assert worker.end() == 0


def rows(database: Database) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return all rows by their recipients."""
    found = database.rows("SELECT to_jsonb(w) FROM pepsi.workqueue w")
    return {tuple(row["recipients"]): row for (row,) in found}


def to(smarthost: Sink, *keys: str) -> tuple[str, ...]:
    return ("HOST = 127.0.0.1", f"PORT = {smarthost.port}", "TLS = none", *keys)


def test_recipients_with_different_results_become_rows_of_their_own(
    configure: Configure, database: Database, smarthost: Sink
):
    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        return b"550 5.1.1 who?\r\n" if "c@" in line else b"450 4.2.1 later\r\n" if "d@" in line else None

    smarthost.answer = answer
    with worker_of("relay-to-smarthost", configure("BOUNCE_STAGE = bounce", *to(smarthost))) as worker:
        assert worker.line() == "ready"
        (number,) = put(database, "mixed", recipients=("b@x", "c@x", "d@x"))
        assert handled(worker, number) == "0"
        found = rows(database)
        places = {recipients: (row["stage"], row["status"]) for recipients, row in found.items()}
        assert places == {("b@x",): ("next", "pending"), ("c@x",): ("bounce", "pending"), ("d@x",): ("work", "paused")}
        waiting, refused = found["d@x",], found["c@x",]
        assert waiting["workqueue_id"] == number
        assert waiting["state"]["temporary_failures"] == 1
        assert waiting["state"]["deliveries"].keys() == {"d@x"}
        assert refused["state"]["deliveries"] == {
            "c@x": {"status": "5.1.1", "reply": "550 5.1.1 who?", "host": "127.0.0.1"}
        }
        assert (refused["state"]["failed_stage"], refused["state"]["failure_class"]) == ("work", "permanent")
        assert found["b@x",]["state"] == {}
        # The next try concerns the one who waits and nobody else.
        smarthost.answer = lambda line, dialogue: None
        claim_again(database, number)
        assert handled(worker, number) == "0"
        assert rows(database)["d@x",]["stage"] == "next"
        stopped(worker)
    assert [heard.recipients for heard in smarthost.heard] == [["<b@x>"], ["<d@x>"]]
    assert len(smarthost.dialogues) == 1
    assert smarthost.lines[-1] == "QUIT"


def test_who_waited_for_the_whole_lifetime_bounces_and_the_others_are_done_with(
    configure: Configure, database: Database, smarthost: Sink
):
    smarthost.answer = lambda line, dialogue: b"450 4.2.1 later\r\n" if "d@" in line else None
    config = configure("BOUNCE_STAGE = bounce", "MAX_LIFETIME = 2 h", *to(smarthost))
    with worker_of("relay-to-smarthost", config) as worker:
        assert worker.line() == "ready"
        (number,) = put(database, "old", recipients=("b@x", "d@x"))
        database.rows("UPDATE pepsi.workqueue SET received_at = now() - interval '3 hours'")
        assert handled(worker, number) == "0"
        found = rows(database)
        assert found["b@x",]["stage"] == "next"
        assert found["d@x",]["stage"] == "bounce"
        assert found["d@x",]["state"]["failure_class"] == "retries-exhausted"
        assert found["d@x",]["state"]["deliveries"]["d@x"]["status"] == "4.2.1"
        assert len(found) == 2
        stopped(worker)


def test_without_a_bounce_stage_who_is_refused_is_kept_as_failed(
    configure: Configure, database: Database, smarthost: Sink
):
    smarthost.answer = lambda line, dialogue: (
        b"550 who?\r\n" if "c@" in line else b"450 no\r\n" if "d@" in line else None
    )
    with worker_of("relay-to-smarthost", configure(*to(smarthost))) as worker:
        assert worker.line() == "ready"
        mixed, single = put(database, "x", recipients=("c@x", "d@x")) + put(database, "y", recipients=("c@y",))
        assert handled(worker, mixed) == "0"
        assert handled(worker, single).startswith("65 ")
        found = rows(database)
        assert {recipients: (row["stage"], row["status"]) for recipients, row in found.items()} == {
            ("c@x",): ("work", "failed"),
            ("d@x",): ("work", "paused"),
            ("c@y",): ("work", "failed"),
        }
        assert found["c@x",]["state"].keys() == found["c@y",]["state"].keys()
        stopped(worker)


def test_a_message_delivered_by_a_worker_that_was_killed_before_it_said_so_does_not_double(
    configure: Configure, database: Database, tmp_path: Path
):
    boxes = tmp_path / "boxes"
    boxes.mkdir()
    new = boxes / "x" / "b" / "new"
    config = configure(f"DIRECTORY = {boxes}", "CREATE = yes")
    (number,) = put(database, "once", recipients=("b@x",))
    with worker_of("deliver-maildir", config) as worker, locked(database, number):
        assert worker.line() == "ready"
        worker.hand(number)
        until(lambda: new.exists() and any(new.iterdir()))
        worker.process.kill()
        worker.end()
        # Or else what it sent is carried out once the row is free.
        database.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^pepsi-stage'")
    assert rows(database)["b@x",]["status"] == "running"
    claim_again(database, number)
    with worker_of("deliver-maildir", config) as worker:
        assert worker.line() == "ready"
        assert handled(worker, number) == "0"
        stopped(worker)
    assert len(list(new.iterdir())) == 1
    assert rows(database)["b@x",]["stage"] == "next"


def test_a_filter_rewrites_the_row(configure: Configure, database: Database):
    with worker_of("pipe", configure("COMMAND = tr a-z A-Z", "OUTPUT = replace")) as worker:
        assert worker.line() == "ready"
        (number,) = put(database, "loud")
        assert handled(worker, number) == "0"
        [row] = rows(database).values()
        assert (row["stage"], row["subject"]) == ("next", "LOUD")
        stopped(worker)


def test_a_command_ends_when_the_dispatcher_kills_its_worker(configure: Configure, database: Database, tmp_path: Path):
    script = tmp_path / "hang"
    script.write_text(f"#!/bin/sh\nsleep 600 & echo $! > {tmp_path}/pid; mkdir {tmp_path}/there; wait\n")
    script.chmod(0o755)
    with worker_of("pipe", configure(f"COMMAND = {script}")) as worker:
        assert worker.line() == "ready"
        worker.hand(*put(database, "hang"))
        until((tmp_path / "there").exists)
        worker.process.send_signal(signal.SIGKILL)
        worker.end()
    pid = int((tmp_path / "pid").read_text())
    subprocess.run(["tail", f"--pid={pid}", "-f", "/dev/null"], timeout=PATIENCE, check=True)
