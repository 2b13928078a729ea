"""kill -9 of a worker, of the dispatcher, of PostgreSQL, in the middle of two thousand messages.

All must arrive. A message can arrive twice only if it was in flight when something was killed, so the doubles are
counted, and are at most as many as can be in flight.
"""

import os
import signal
import smtplib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from pepsi.db.embedded import connection_of
from tests.support_database import Database
from tests.support_program import Program, until

COUNT = 2000
PARALLELISM, QUEUE_LIMIT = 2, 4
IN_FLIGHT = PARALLELISM * QUEUE_LIMIT


class Line:
    """A pipeline of two stages, the second of which writes down each message that it is given."""

    def __init__(self, directory: Path, dsn: str, record_dir: Path) -> None:
        self.directory = directory
        self.record = record_dir / "record"
        self.config = directory / "pepsi.conf"
        self.config.write_text(
            f"""
[pepsi]
HOSTNAME = line.example
STATE_DIRECTORY = {directory}
[pepsi-postgres]
DSN = {dsn}
[pepsi-dispatch]
CONFIG_FILE = {self.config}
[pepsi-ingress]
LISTEN = tcp:0:interface=127.0.0.1
ENTRY_STAGE = sort
[stage-sort]
PROGRAM = pepsi-stage-if
CONDITION = all recipient_domains == "line.example"
THEN_STAGE = record
ELSE_STAGE = record
PARALLELISM = {PARALLELISM}
[stage-record]
PROGRAM = pepsi-stage-pipe
COMMAND = sh -c 'exec sed -n "s/^X-Number: //p" >> "$0"' {self.record}
PARALLELISM = {PARALLELISM}
QUEUE_LIMIT = {QUEUE_LIMIT}
"""
        )
        self.programs: list[Program] = []

    def run(self, *arguments: str) -> Program:
        program = Program([arguments[0], "-c", self.config, *arguments[1:]])
        self.programs.append(program)
        return program

    def arrived(self) -> Counter[int]:
        if not self.record.exists():
            return Counter()
        return Counter(int(line) for line in self.record.read_text().splitlines())

    def check(self, kills: int) -> None:
        """All have arrived, and no more than can be in flight have done so twice, for each kill."""
        arrived = self.arrived()
        doubles = sum(arrived.values()) - COUNT
        print(f"{len(arrived)} of {COUNT} arrived, {doubles} once too often after {kills} kills")
        assert set(arrived) == set(range(1, COUNT + 1))
        assert doubles <= IN_FLIGHT * kills

    def close(self) -> None:
        for program in self.programs:
            program.close()
            print("".join(program.said))


def fill(database: Database) -> None:
    database.rows(
        "SELECT pepsi.workqueue_inject('sort', 'a@line.example', '{b@line.example}', "
        "convert_to(E'Subject: x\\r\\nX-Number: ' || n || E'\\r\\n\\r\\nbody\\r\\n', 'UTF8')) "
        "FROM generate_series(1, %(count)s) n",
        count=COUNT,
    )


def workers_of(stage: str, parent: int) -> list[int]:
    """Process ids of the workers of *stage* whose dispatcher is *parent*."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if f"\nPPid:\t{parent}\n" in status.read_text():
                command = status.with_name("cmdline").read_bytes().split(b"\0")
                if any(word.endswith(b"pepsi-stage-" + stage.encode()) for word in command):
                    found.append(int(status.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.fixture
def line(tmp_path: Path, database: Database) -> Iterator[Line]:
    made = Line(tmp_path, database.dsn, tmp_path)
    yield made
    made.close()


def release(database: Database) -> None:
    """Do not wait for the pauses after strikes and lost connections."""
    database.rows("SELECT pepsi.workqueue_resume(workqueue_id) FROM pepsi.workqueue WHERE status = 'paused'")


def finish(line: Line, database: Database, seconds: float = 120) -> None:
    def done() -> bool:
        release(database)
        return bool(database.value("SELECT count(*) = 0 FROM pepsi.workqueue"))

    until(done, seconds, step=0.2)


@pytest.mark.timeout(240)
def test_killed_workers_lose_nothing(line: Line, database: Database) -> None:
    fill(database)
    dispatcher = line.run("pepsi-dispatch", "serve")
    kills = 0
    for share in (300, 700, 1100, 1500):
        until(lambda share=share: len(line.arrived()) >= share)  # type: ignore[misc]
        until(lambda: bool(workers_of("pipe", dispatcher.pid)))
        for worker in workers_of("pipe", dispatcher.pid)[:1]:
            os.kill(worker, signal.SIGKILL)
            kills += 1
    finish(line, database)
    assert kills == 4
    line.check(kills)
    assert dispatcher.stop() == 0


@pytest.mark.timeout(240)
def test_killed_dispatchers_lose_nothing(line: Line, database: Database) -> None:
    fill(database)
    for share in (400, 1200):
        dispatcher = line.run("pepsi-dispatch", "serve")
        until(lambda share=share: len(line.arrived()) >= share)  # type: ignore[misc]
        dispatcher.kill()
        dispatcher.wait()
    last = line.run("pepsi-dispatch", "serve")
    finish(line, database)
    line.check(kills=2)
    assert database.value("SELECT max(epoch) FROM pepsi.dispatcher_epoch") == 3
    assert last.stop() == 0


@pytest.mark.timeout(300)
def test_a_killed_postgresql_loses_nothing(state_directory: Path, tmp_path: Path) -> None:
    """Through the door this time: what was answered 250 must arrive, whatever became of the server just then."""
    line = Line(state_directory, "embedded", tmp_path)
    program = line.run("pepsi", "up")
    try:
        port = int(program.wait_for(r"listening on 127\.0\.0\.1:([0-9]+)")[1])
        program.wait_for("dispatching under epoch")
        postmaster = state_directory / "postgres" / "data" / "postmaster.pid"
        with smtplib.SMTP("127.0.0.1", port) as client:
            for number in range(1, COUNT + 1):
                if number in (600, 1400):
                    os.kill(int(postmaster.read_text().splitlines()[0]), signal.SIGKILL)
                message = f"Subject: x\r\nX-Number: {number}\r\n\r\nbody\r\n"
                until(lambda message=message: _taken(client, message), step=0.1)  # type: ignore[misc]
        until(lambda: _is_empty(state_directory), 120, step=0.2)
        # What the client sent again although it had been taken comes on top: a commit of unknown outcome is a 451.
        arrived = line.arrived()
        doubles = sum(arrived.values()) - COUNT
        print(f"{len(arrived)} of {COUNT} arrived, {doubles} once too often after 2 kills")
        assert set(arrived) == set(range(1, COUNT + 1))
        assert doubles <= 2 * (IN_FLIGHT + 1)
        assert program.stop() == 0
    finally:
        line.close()


def _taken(client: smtplib.SMTP, message: str) -> bool:
    try:
        client.sendmail("a@line.example", ["b@line.example"], message)
    except smtplib.SMTPResponseException as error:
        assert error.smtp_code == 451, error
        return False
    return True


def _is_empty(state_directory: Path) -> bool:
    try:
        with psycopg2.connect(connection_of(state_directory)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT pepsi.workqueue_resume(workqueue_id) FROM pepsi.workqueue WHERE status = 'paused'")
            cursor.execute("SELECT count(*) FROM pepsi.workqueue")
            row = cursor.fetchone()
    except psycopg2.OperationalError:
        return False
    return row == (0,)
