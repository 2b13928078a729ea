"""Real workers over real pipes, as a dispatcher would run them."""

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pepsi.db.inject import insert
from pepsi.model import claim
from pepsi.model.envelope import Arrival
from tests.support_database import Database

ROOT = Path(__file__).resolve().parent.parent
EPOCH = 5
TOKEN = claim.pack(EPOCH, 1)
PATIENCE = 60
"""Seconds after which a test is given up: far more than anything takes here."""


class Worker:
    """A running worker."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._buffer = b""
        self._said: list[bytes] = []
        self._heard = threading.Condition()
        self._reader = threading.Thread(target=self._listen)
        self._reader.start()

    def hand(self, *ids: int) -> None:
        """Write *ids* in one write."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(b"%d\n" % number for number in ids))
        self.process.stdin.flush()

    def line(self) -> str:
        """Return the next line of its standard output; '' at the end."""
        assert self.process.stdout is not None
        while b"\n" not in self._buffer:
            readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            assert readable, f"the worker says nothing; its standard error: {self.stderr}"
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                assert not self._buffer
                return ""
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode()

    def lines(self, count: int) -> list[str]:
        """Return the next *count* lines."""
        return [self.line() for _ in range(count)]

    def close_input(self) -> None:
        """Do what a dispatcher does with a worker that it wants no more of, or that dies."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """Wait until it has ended, and return its exit status."""
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return status

    @property
    def stderr(self) -> str:
        """What it has said on standard error so far."""
        return b"".join(self._said).decode()

    def wait_for(self, text: str) -> None:
        """Wait until *text* was said on standard error."""
        with self._heard:
            assert self._heard.wait_for(lambda: text in self.stderr, PATIENCE), self.stderr

    def _listen(self) -> None:
        assert self.process.stderr is not None
        while data := os.read(self.process.stderr.fileno(), 65536):
            with self._heard:
                self._said.append(data)
                self._heard.notify_all()


@contextmanager
def running(command: list[str], **environ: str) -> Iterator[Worker]:
    """Run *command* as a worker; it is killed at the end if it still runs."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONWARNINGS": "error", **environ},
    )
    worker = Worker(process)
    try:
        yield worker
    finally:
        process.kill()
        worker.end()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def program(module: str, *arguments: str) -> list[str]:
    """Return the command that runs *module* as a program."""
    return [sys.executable, "-bb", "-m", module, *arguments]


def put(database: Database, *subjects: str, token: int = TOKEN, stage: str = "work", **given: Any) -> list[int]:
    """Put in a message for each of *subjects*, claimed by the dispatcher of *token*; return their ids."""
    arrivals = [
        Arrival(
            **{
                "mail_from": "anna@example.org",
                "recipients": ("bob@example.net",),
                "message": b"Subject: %s\r\n\r\nbody\r\n" % subject.encode(),
                **given,
            }
        )
        for subject in subjects
    ]
    ids = [number for (number,) in database.run(insert(arrivals, stage))]
    claim_again(database, *ids, token=token)
    return ids


def claim_again(database: Database, *ids: int, token: int = TOKEN) -> None:
    """Claim *ids* as a dispatcher would."""
    database.rows(
        "UPDATE pepsi.workqueue SET status = 'running', claim = %(token)s, timeout = NULL "
        "WHERE workqueue_id = ANY (%(ids)s)",
        token=token,
        ids=list(ids),
    )


def row(database: Database, number: int) -> Mapping[str, Any]:
    """Return the row *number*."""
    ((value,),) = database.rows("SELECT to_jsonb(w) FROM pepsi.workqueue w WHERE workqueue_id = %(id)s", id=number)
    found: dict[str, Any] = value
    return found


@contextmanager
def locked(database: Database, number: int) -> Iterator[None]:
    """Lock the row *number*: a worker can load it, but not commit."""
    connection = database.connect()
    connection.autocommit = False
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pepsi.workqueue WHERE workqueue_id = %s FOR UPDATE", (number,))
    yield
    connection.rollback()
