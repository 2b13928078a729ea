"""Faults of PostgreSQL: it is killed, its sessions are ended, rows are held, the configuration in it is changed."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg2
from psycopg2.errors import SerializationFailure
from psycopg2.extensions import connection as Connection

from pepsi.db import sync
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from tests.chaos import plan, processes
from tests.chaos.faults import Kind
from tests.chaos.ledger import Ledger
from tests.chaos.outage import is_outage
from tests.chaos.supervisor import Supervisor

SETTLING = 5.0
"""Seconds until nobody has to do with the broken configuration any more."""
STORM = 500
"""Notifications, each in a transaction of its own."""
CHANNELS = ("workqueue", "config_changed", "telemetry_changed", "workqueue_repair", "no_such_channel")


@dataclass(slots=True)
class OnServer:
    """Hits the server that *dsn* leads to, and whose postmaster *postmaster* finds.

    Each method returns whether there was something to hit. Raises psycopg2.Error while the server is away.
    """

    ledger: Ledger
    supervisor: Supervisor
    dsn: str
    postmaster: Callable[[], int | None]

    def kill_server(self) -> bool:
        pid = self.postmaster()
        if pid is None:
            return False
        self._note_crash(Kind.SERVER_KILL, pid)
        return processes.send(pid, signal.SIGKILL)

    def hit_backend(self, kind: Kind) -> bool:
        with self._connected() as connection:
            rows = _run(
                connection,
                "SELECT pid, application_name FROM pg_stat_activity WHERE application_name LIKE 'pepsi-%%'",
            )
            if not rows:
                return False
            pid, name = self.ledger.chance.choice(rows)
            if kind is Kind.SESSION_END:
                self.ledger.note(kind, pid, name)
                _run(connection, "SELECT pg_terminate_backend(%(pid)s)", pid=pid)
                return True
        self._note_crash(kind, pid)
        return processes.send(pid, signal.SIGKILL)

    def _note_crash(self, kind: Kind, pid: int) -> None:
        # Other backends go on until they notice, and what they commit meanwhile need not last.
        self.ledger.later(2.0, self.ledger.note(kind, pid, lasts=True))

    def hold(self) -> bool:
        """Let somebody forget a transaction that has locked rows and keeps an old snapshot."""
        held = contextlib.ExitStack()
        connection = held.enter_context(self._connected())
        _run(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            _run(
                connection,
                "SELECT FROM pepsi.workqueue WHERE status IN ('pending', 'running') ORDER BY workqueue_id LIMIT 3 "
                "FOR UPDATE SKIP LOCKED",
            )
        except SerializationFailure:
            held.close()
            return False  # one of the rows was moved on between the snapshot and the lock
        over = self.ledger.note(Kind.HELD_ROWS, lasts=True)

        def let_go() -> None:
            held.close()
            over()

        self.ledger.later(self.ledger.moment(8), let_go)
        return True

    def storm(self) -> bool:
        with self._connected() as connection:
            self.ledger.note(Kind.NOTIFY_STORM)
            for _ in range(STORM):
                channel = self.ledger.chance.choices(CHANNELS, (400, 1, 1, 20, 20))[0]
                _run(
                    connection,
                    "SELECT pg_notify(%(channel)s, %(payload)s)",
                    channel=channel,
                    payload=str(self.ledger.chance.random()),
                )
        return True

    def reload(self) -> bool:
        stage = self.ledger.chance.choice((plan.SORT, plan.WORK, plan.SEND))
        with self._connected() as connection:
            self.ledger.note(Kind.RELOAD)
            match self.ledger.chance.randrange(4):
                case 0:
                    # A stage that is only there, comes and goes.
                    _override(
                        connection, "stage-spare", "PROGRAM", self.ledger.chance.choice(("pepsi-stage-discard", None))
                    )
                case 1:
                    _override(connection, f"stage-{stage}", "QUEUE_LIMIT", str(self.ledger.chance.randint(1, 8)))
                case _:
                    _override(connection, f"stage-{stage}", "PARALLELISM", str(self.ledger.chance.randint(2, 4)))
        return True

    def break_config(self) -> bool:
        if self.supervisor.broken:
            return False
        with self._connected() as connection:
            over = self.ledger.note(Kind.BAD_CONFIG, lasts=True)
            self.supervisor.broken = True
            # First of all: the server may go away in the middle, and then nobody knows whether it is broken.
            self.ledger.later(self.ledger.moment(8), lambda: self._mend_config(over))
            _override(connection, "stage-work", "NEXT_STAGE", "nowhere")
        return True

    def _mend_config(self, over: Callable[[], None]) -> None:
        try:
            with self._connected() as connection:
                _override(connection, "stage-work", "NEXT_STAGE", None)
        except psycopg2.Error as error:
            if not is_outage(error):
                raise
            self.ledger.later(0.5, lambda: self._mend_config(over))
            return
        # What has read it may still be about to end.
        self.ledger.later(SETTLING, over)
        self.ledger.later(SETTLING, self._config_is_good)

    def _config_is_good(self) -> None:
        self.supervisor.broken = False

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Connection]:
        parameters = Parameters(dsn=self.dsn, application_name="chaos: mischief", statement_timeout=20)
        with contextlib.closing(sync.connect(parameters)) as connection:
            yield connection


def _run(connection: Connection, text: str, **params: Any) -> list[tuple[Any, ...]]:
    return sync.run(connection, Statement(text, params))


def _override(connection: Connection, section: str, key: str, value: str | None) -> None:
    """Set a key of the configuration in the database, or take it back, and say so."""
    _run(
        connection,
        "DELETE FROM pepsi.config_override WHERE section = %(section)s AND key = %(key)s",
        section=section,
        key=key,
    )
    if value is not None:
        _run(
            connection,
            "INSERT INTO pepsi.config_override (section, key, value) VALUES (%(section)s, %(key)s, %(value)s)",
            section=section,
            key=key,
            value=value,
        )
    _run(connection, "NOTIFY config_changed")
