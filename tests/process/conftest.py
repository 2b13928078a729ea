"""What the tests of worker processes share."""

import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.db.queue import Queue
from tests.support_database import Database
from tests.support_queue_tool import HOSTILE, Tool
from tests.support_worker import PATIENCE

Configure = Callable[..., str]


class Gate:
    """Two named pipes by which the stage of the tests says that it is at work, and is kept there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        names = [path.with_suffix(suffix) for suffix in (".in", ".out")]
        for name in names:
            os.mkfifo(name)
        # Opened both ways, which never blocks, so that neither side waits for the other to open.
        self._inside, self._outside = (os.open(name, os.O_RDWR) for name in names)

    def reached(self) -> None:
        """Wait until the stage is inside."""
        readable, _, _ = select.select([self._inside], [], [], PATIENCE)
        assert readable, "the stage does not come to the gate"
        os.read(self._inside, 1)

    def open(self) -> None:
        """Let the stage go on."""
        os.write(self._outside, b"x")

    def close(self) -> None:
        os.close(self._inside)
        os.close(self._outside)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path / "gate")
    yield made
    made.close()


@pytest.fixture
def configure(tmp_path: Path, database: Database) -> Configure:
    """Write a configuration with a stage ``work``, the keys given, and one ``next`` that it is not fused with.

    Returns the name of the file.
    """

    def write(*keys: str, dsn: str = database.dsn, postgres: str = "", program: str = "odd", fusion: str = "no") -> str:
        file = tmp_path / "pepsi.conf"
        lines = [
            "[pepsi-postgres]",
            f"DSN = {dsn}",
            postgres,
            "[pepsi-ingress]",
            "ENTRY_STAGE = work",
            "[stage-work]",
            f"PROGRAM = {program}",
            "NEXT_STAGE = next",
            *keys,
            "[stage-next]",
            "PROGRAM = pepsi-stage-discard",
            "NEXT_STAGE = bounce",
            "[stage-bounce]",
            "PROGRAM = pepsi-stage-discard",
            "[pepsi]",
            f"ALLOW_FUSION = {fusion}",
        ]
        file.write_text("\n".join(lines) + "\n")
        return str(file)

    return write


@pytest.fixture
def queue(database: Database) -> Queue:
    """The queue of the test's own database."""
    return Queue(database)


@pytest.fixture
def tool(database: Database, tmp_path: Path) -> Tool:
    """pepsi-queue with a configuration for the test's own database."""
    return Tool(tmp_path / "pepsi.conf", database)


@pytest.fixture
def hostile(queue: Queue) -> int:
    """A message with hostile text wherever there can be any."""
    number = queue.add(mail_from=HOSTILE, recipients=[HOSTILE], state={"last_error": HOSTILE, HOSTILE: 1})
    queue.database.rows("UPDATE pepsi.workqueue SET subject = %(hostile)s, stage = %(hostile)s", hostile=HOSTILE)
    return number
