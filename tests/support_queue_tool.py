"""pepsi-queue as a process of its own, on a pipe or on a terminal."""

import contextlib
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pepsi.db.session import DISPATCHER_LOCK
from tests.db.queue import Queue
from tests.support_database import Database
from tests.support_program import until

PATIENCE = 60.0

HOSTILE = (
    "\x1b[2J\x1b[1;1H\x1b]0;x\x07\x1b]52;c;aGk=\x07\x1bPq\x1b[8m\r9\tfake\trow\b\b\b\v\f\x7f\x85\x9b2J"
    "\N{RIGHT-TO-LEFT OVERRIDE}\N{LINE SEPARATOR}\nnext\U0010ffff"
)
"""All that a terminal could take for a command, or for another line."""
COMMAND = (sys.executable, "-bb", "-W", "error", "-m", "pepsi.tools.queue.program")


@dataclass(frozen=True, slots=True)
class Done:
    """How it ended, and the bytes that it wrote."""

    status: int
    raw: bytes
    said: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Tool:
    """The tool with a configuration that is right for the database only."""

    def __init__(self, file: Path, database: Database) -> None:
        self.file = file
        self.database = database
        self.configure(database.dsn)

    def configure(self, dsn: str, *keys: str) -> None:
        """Write a configuration whose only stages are a and relay, and whose other sections are wrong."""
        lines = [
            "[pepsi-postgres]",
            f"DSN = {dsn}",
            *keys,
            "[stage-a]",
            "PROGRAM =",
            "[stage-relay]",
            "[pepsi]",
            "X = y",
        ]
        self.file.write_text("\n".join(lines) + "\n")

    def begin(self, *words: str, **given: object) -> "subprocess.Popen[bytes]":
        """Start it, with pipes for output and errors."""
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **given}
        return subprocess.Popen([*COMMAND, "-c", str(self.file), *words], **settings)  # type: ignore[call-overload,no-any-return]

    def __call__(self, *words: str, environ: Mapping[str, str] | None = None) -> Done:
        """Run it to its end, on pipes."""
        process = self.begin(*words, env={**os.environ, **(environ or {})})
        out, said = process.communicate(timeout=PATIENCE)
        return Done(process.returncode, out, said.decode())

    def on_terminal(self, *words: str, environ: Mapping[str, str] | None = None) -> Done:
        """Run it to its end with output and errors on a terminal of 100 columns, which shows them in one."""
        ours, theirs = pty.openpty()
        setting = {**os.environ, "COLUMNS": "100", "TERM": "xterm", **(environ or {})}
        process = self.begin(*words, stdout=theirs, stderr=theirs, env=setting)
        os.close(theirs)
        seen = b""
        # The end of a terminal whose other side is closed is an error of its own.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 65536):
                seen += piece
        os.close(ours)
        return Done(process.wait(PATIENCE), seen.replace(b"\r\n", b"\n"), "")


class Held:
    """A transaction of somebody else that keeps what its statement has locked, for the length of a block."""

    def __init__(self, database: Database, text: str) -> None:
        self._connection = database.connect()
        self._text = text

    def __enter__(self) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(self._text)

    def __exit__(self, *_: object) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute("ROLLBACK")


def wait_until_blocked(database: Database) -> None:
    """Wait until the tool waits for a lock."""
    text = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND application_name = 'pepsi-queue' AND wait_event_type = 'Lock'"
    )
    until(lambda: database.value(text) == 1)


def fill(queue: Queue, count: int, status: str) -> None:
    """Put *count* messages of *status* in at the stage a, and one at the stage zero."""
    queue.add(stage="zero")
    queue.database.rows(
        "INSERT INTO pepsi.workqueue (body_id, size, stage, mail_from, recipients, status, claim) "
        "SELECT body_id, 1, 'a', 'x@y', '{z@y}', %(status)s, "
        "CASE %(status)s WHEN 'running' THEN g END FROM pepsi.workqueue, generate_series(1, %(count)s) g",
        status=status,
        count=count,
    )


def lock() -> dict[str, int]:
    """The parameters a and b of the dispatcher's lock."""
    return {"a": DISPATCHER_LOCK[0], "b": DISPATCHER_LOCK[1]}


def plain(raw: bytes, *, allowed: bytes = b"\n\t") -> bool:
    """Whether no byte of *raw* drives a terminal, those *allowed* aside."""
    raw.decode()
    return not any((byte < 32 and byte not in allowed) or byte == 127 for byte in raw)
