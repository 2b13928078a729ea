"""A dispatcher with puppets for workers, on a database of its own."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support_database import Database
from tests.support_program import Program, until

PUPPET = Path(__file__).with_name("puppet.py")


class Theatre:
    """A configuration whose stages are puppets, and the dispatchers that are started for it."""

    def __init__(self, directory: Path, database: Database) -> None:
        self.directory = directory
        self.database = database
        self.dsn = database.dsn
        """What dispatchers and puppets connect with."""
        self.record = directory / "record"
        self.config = directory / "pepsi.conf"
        self.log = directory / "log"
        self.programs: list[Program] = []
        self.write_config()

    def write_config(self, *, dispatch: str = "", **stages: str) -> None:
        """Write pepsi.conf; each of *stages* is the further lines of a section, the first one is the entry."""
        stages = stages or {"puppet": ""}
        text = f"""
[pepsi]
STATE_DIRECTORY = {self.directory}
[pepsi-postgres]
DSN = {self.dsn}
[pepsi-dispatch]
CONFIG_FILE = {self.config}
{dispatch}
[pepsi-ingress]
ENTRY_STAGE = {next(iter(stages))}
"""
        for name, lines in stages.items():
            program = "" if "PROGRAM" in lines else f"PROGRAM = {sys.executable} {PUPPET} {self.record}\n"
            text += f"[stage-{name}]\n{program}{lines}\n"
        self.config.write_text(text)

    def dispatcher(self, *options: str, wait: bool = True, environ: Mapping[str, str] | None = None) -> Program:
        """Start a dispatcher, by default until mail moves."""
        environ = {"PUPPET_DSN": self.dsn, "PUPPET_NEXT_first": "second", **(environ or {})}
        program = Program(["pepsi-dispatch", "-c", self.config, *options, "serve"], environ=environ)
        self.programs.append(program)
        if wait:
            program.wait_for("dispatching under epoch")
        return program

    def twistd(self, *options: str, environ: Mapping[str, str] | None = None) -> Program:
        """Start a dispatcher under twistd. Its log is the file *log*."""
        command = ["twistd", "-n", "--pidfile=", f"--logfile={self.log}", "pepsi-dispatch", *options]
        program = Program(command, cwd=self.directory, environ={"PUPPET_DSN": self.dsn, **(environ or {})})
        self.programs.append(program)
        return program

    def inject(self, subject: str = "", stage: str = "puppet", count: int = 1) -> list[int]:
        """Put *count* messages in, as one transaction."""
        rows = self.database.rows(
            "SELECT pepsi.workqueue_inject(%(stage)s, 'a@example.org', '{b@example.org}', "
            "'Subject: x\r\n\r\nbody\r\n'::bytea, '', %(subject)s) FROM generate_series(1, %(count)s)",
            stage=stage,
            subject=subject,
            count=count,
        )
        return [row[0] for row in rows]

    def row(self, number: int) -> tuple[str, str, dict[str, object]] | None:
        """Stage, status and state of a message, None when it is done with."""
        rows = self.database.rows(
            "SELECT stage, status, state FROM pepsi.workqueue WHERE workqueue_id = %(number)s", number=number
        )
        return rows[0] if rows else None

    def status(self, number: int) -> str | None:
        row = self.row(number)
        return None if row is None else row[1]

    def release(self) -> None:
        """Let every paused message be due now."""
        self.database.rows("SELECT pepsi.workqueue_resume(workqueue_id) FROM pepsi.workqueue WHERE status = 'paused'")

    def left(self) -> int:
        return int(self.database.value("SELECT count(*) FROM pepsi.workqueue"))

    def wait_until_empty(self, seconds: float = 60) -> None:
        until(lambda: self.left() == 0, seconds)

    def executions(self) -> dict[int, int]:
        """How often each message was begun."""
        counts: dict[int, int] = {}
        for event, number, _ in self.events():
            if event == "begin":
                counts[number] = counts.get(number, 0) + 1
        return counts

    def events(self) -> list[tuple[str, int, int]]:
        if not self.record.exists():
            return []
        return [(w[0], int(w[1]), int(w[2])) for w in (line.split() for line in self.record.read_text().splitlines())]

    def workers(self) -> list[int]:
        """Process ids of the puppets that live."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.record).encode() in path.read_bytes():
                    found.append(int(path.parent.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return found

    def close(self) -> None:
        for program in self.programs:
            program.close()
            print("".join(program.said))
        assert "overlap" not in {event for event, _, _ in self.events()}, "a message was executed twice at once"


@pytest.fixture
def theatre(tmp_path: Path, database: Database) -> Iterator[Theatre]:
    made = Theatre(tmp_path, database)
    yield made
    made.close()
