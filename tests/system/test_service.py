"""The dispatcher as a service: what its manager hears, and what can be fetched from it."""

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support_program import Program, until
from tests.system.conftest import Theatre


class Manager:
    """Stands in for systemd: collects what it is told."""

    def __init__(self, path: Path) -> None:
        self.heard: list[str] = []
        self.environ = {"NOTIFY_SOCKET": str(path)}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))

    def said(self, pattern: str) -> bool:
        """Whether a line like that was said so far."""
        try:
            while True:
                self.heard += self._socket.recv(1000).decode().splitlines()
        except BlockingIOError:
            return any(re.fullmatch(pattern, line) for line in self.heard)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    made = Manager(tmp_path / "notify")
    yield made
    made.close()


def metrics_of(program: Program) -> str:
    return str(program.wait_for(r"metrics are served on (\S+)")[1])


def fetch(address: str, page: str = "metrics") -> str:
    try:
        with urllib.request.urlopen(f"http://{address}/{page}", timeout=10) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


def value(page: str, sample: str) -> float:
    (found,) = re.findall(rf"^{re.escape(sample)} (\S+)$", page, re.MULTILINE)
    return float(found)


def test_the_manager_hears_of_the_start_the_work_and_the_stop(theatre: Theatre, manager: Manager) -> None:
    dispatcher = theatre.dispatcher(environ={**manager.environ, "WATCHDOG_USEC": "200000"})
    until(lambda: manager.said("READY=1"))
    manager.heard.clear()
    until(lambda: manager.said("WATCHDOG=1"))
    assert not manager.said("STOPPING=1")
    assert dispatcher.stop() == 0
    assert manager.said("STOPPING=1")


def test_under_twistd_the_manager_hears_the_same(theatre: Theatre, manager: Manager) -> None:
    twistd = theatre.twistd("--config", str(theatre.config), environ={**manager.environ, "WATCHDOG_USEC": "200000"})
    for line in ("READY=1", "WATCHDOG=1"):
        until(lambda line=line: manager.said(line))  # type: ignore[misc]
    assert twistd.stop() == 0
    assert manager.said("STOPPING=1")


def test_ready_is_not_said_before_mail_can_move(theatre: Theatre, manager: Manager) -> None:
    theatre.dispatcher()
    theatre.write_config(dispatch="STANDBY = yes")
    standby = theatre.dispatcher(wait=False, environ=manager.environ)
    standby.wait_for("waiting for the dispatcher's lock")
    assert manager.said("STATUS=waiting for the dispatcher's lock")
    assert not manager.said("READY=1")
    theatre.programs[0].stop()
    until(lambda: manager.said("READY=1"))


def test_workers_hear_nothing_of_the_manager(theatre: Theatre, manager: Manager) -> None:
    theatre.dispatcher(environ={**manager.environ, "WATCHDOG_USEC": "30000000"})
    theatre.inject("hang")
    until(lambda: bool(theatre.workers()))
    for worker in theatre.workers():
        assert b"NOTIFY_SOCKET" not in Path(f"/proc/{worker}/environ").read_bytes()


def test_metrics_tell_of_the_work(theatre: Theatre) -> None:
    theatre.write_config(dispatch="METRICS_LISTEN = tcp:0:interface=127.0.0.1", puppet="")
    dispatcher = theatre.dispatcher()
    address = metrics_of(dispatcher)
    assert fetch(address, "healthz") == "ok\n"
    theatre.inject(count=10)
    theatre.inject("answer 5 no such thing")
    until(lambda: theatre.left() == 1)
    until(lambda: value(fetch(address), 'pepsi_in_flight{stage="puppet"}') == 0)
    page = fetch(address)
    assert value(page, 'pepsi_messages_total{stage="puppet"}') == 11
    assert value(page, 'pepsi_failures_total{stage="puppet"}') == 1
    assert value(page, "pepsi_lock_held") == 1
    assert value(page, "pepsi_claim_seconds_count") >= 1
    assert value(page, "pepsi_claim_rows_sum") == 11
    assert value(page, "pepsi_turn_seconds_count") >= 1
    assert value(page, 'pepsi_database_up{session="writes"}') == 1
    assert value(page, 'pepsi_workers_started_total{stage="puppet"}') >= 1


def test_an_address_for_metrics_that_is_taken_is_an_error_at_the_start(theatre: Theatre) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        theatre.write_config(dispatch=f"METRICS_LISTEN = tcp:{port}:interface=127.0.0.1")
        dispatcher = theatre.dispatcher(wait=False)
        dispatcher.wait_for(r"cannot listen where \[pepsi-dispatch\] METRICS_LISTEN says")
        assert dispatcher.wait() == 1


def test_the_log_can_be_read_by_programs_line_by_line(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher("--log-json", "-L", "debug")
    (number,) = theatre.inject("answer 65 it is \u2028 odd\nor so")
    until(lambda: theatre.status(number) == "failed")
    assert dispatcher.stop() == 0
    records = [json.loads(line) for line in dispatcher.said]
    assert all({"time", "level", "logger", "text"} <= record.keys() for record in records)
    (failed,) = (record for record in records if record["text"].startswith(f"message {number} failed"))
    assert (failed["workqueue_id"], failed["stage"], failed["level"]) == (number, "puppet", "info")
    (answer,) = (record for record in records if record["text"].startswith(f"message {number} answered"))
    assert (answer["code"], answer["level"]) == (65, "debug")
    (total,) = (record for record in records if " passes, " in record["text"])
    assert "1 messages failed; puppet: 1 messages, 1 failures" in total["text"]
