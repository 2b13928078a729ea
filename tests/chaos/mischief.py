"""Does the faults to a running system, undoes those that last, and writes down what it did and when."""

import contextlib
import itertools
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg2
from psycopg2.extensions import connection as Connection

from pepsi.db import sync
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from tests.chaos import plan, processes, record, stepped
from tests.chaos.faults import ALL, Fault, Kind
from tests.chaos.outage import is_outage
from tests.chaos.supervisor import Life, Supervisor
from tests.support_proxy import Proxy

PATTERNS = (ALL, "pepsi-stage-*", "pepsi-stage-work", "pepsi-stage-send", "pepsi-dispatch*", "pepsi-dispatch: lock*")
LONG_SILENCE = 0.1
"""How many silences are so long that a dispatcher must give its workers up."""
STORM = 500
"""Notifications, each in a transaction of its own."""
CHANNELS = ("workqueue", "config_changed", "telemetry_changed", "workqueue_repair", "no_such_channel")


@dataclass(slots=True)
class Pending:
    """Something to be undone at *due*."""

    due: float
    undo: Callable[[], None]


@dataclass(slots=True)
class Mischief:
    """Hits the dispatchers of *supervisor*, the server whose postmaster *postmaster* finds, and *proxy*.

    *dsn* leads to the server past the proxy. *hurry* leaves out what takes minutes.
    """

    supervisor: Supervisor
    proxy: Proxy
    dsn: str
    postmaster: Callable[[], int | None]
    clock: Path
    standby: Path
    chance: random.Random
    hurry: bool
    faults: list[Fault] = field(default_factory=list)
    missed: int = 0
    """Faults that found nothing to hit."""
    _pending: list[Pending] = field(default_factory=list)
    _network_busy: bool = False
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def do(self, kind: Kind) -> None:
        """Do something of *kind*, if there is something to do it to."""
        deeds: dict[Kind, Callable[[], bool]] = {
            Kind.WORKER_KILL: self._kill_worker,
            Kind.WORKER_STOP: self._stop_worker,
            Kind.DISPATCHER_KILL: self._kill_dispatcher,
            Kind.DISPATCHER_STOP: self._stop_dispatcher,
            Kind.SERVER_KILL: self._kill_server,
            Kind.BACKEND_KILL: lambda: self._hit_backend(Kind.BACKEND_KILL),
            Kind.SESSION_END: lambda: self._hit_backend(Kind.SESSION_END),
            Kind.CUT: self._cut,
            Kind.BLACKHOLE: self._silence,
            Kind.DELAY: self._slow,
            Kind.REFUSE: self._refuse,
            Kind.NOTIFY_STORM: self._storm,
            Kind.RELOAD: self._reload,
            Kind.SECOND: self._second,
            Kind.CLOCK_STEP: self._step,
            Kind.HELD_ROWS: self._hold,
        }
        try:
            hit = deeds[kind]()
        except psycopg2.Error as error:
            if not is_outage(error):
                raise
            hit = False
        if not hit:
            self.missed += 1

    def tend(self) -> None:
        """Undo what is due. To be called all the time."""
        now = time.monotonic()
        for pending in [pending for pending in self._pending if pending.due <= now]:
            self._pending.remove(pending)
            pending.undo()

    def end(self) -> None:
        """Undo everything at once."""
        for pending in self._pending:
            pending.undo()
        self._pending.clear()

    def _note(self, kind: Kind, pid: int | None = None, sessions: str = "", lasts: bool = False) -> Callable[[], None]:
        """Write a fault down. Returns what to call when one that *lasts* is over."""
        place = len(self.faults)
        now = time.monotonic()
        self.faults.append(Fault(kind, now, float("inf") if lasts else now, pid, sessions))

        def over() -> None:
            self.faults[place] = replace(self.faults[place], end=time.monotonic())

        return over

    def _later(self, seconds: float, undo: Callable[[], None]) -> None:
        self._pending.append(Pending(time.monotonic() + seconds, undo))

    # Processes

    def _worker(self) -> int | None:
        """Return a worker, one that is at a message if there is one: most are idle at any moment."""
        found = {pid for life in self.supervisor.running() for pid in processes.children(life.process.pid)}
        busy = found.intersection(record.busy(self.supervisor.directory / "record"))
        return self.chance.choice(sorted(busy or found)) if found else None

    def _kill_worker(self) -> bool:
        pid = self._worker()
        if pid is None:
            return False
        # Before the signal, so that nothing can come of it earlier than that.
        self._note(Kind.WORKER_KILL, pid)
        return processes.send(pid, signal.SIGKILL)

    def _stop_worker(self) -> bool:
        pid = self._worker()
        if pid is None:
            return False
        over = self._note(Kind.WORKER_STOP, pid, lasts=True)
        processes.send(pid, signal.SIGSTOP)
        self._later(self._moment(15), lambda: self._go_on(pid, over))
        return True

    def _go_on(self, pid: int, over: Callable[[], None]) -> None:
        processes.send(pid, signal.SIGCONT)
        over()

    def _kill_dispatcher(self) -> bool:
        life = self._life()
        if life is None:
            return False
        self._end_dispatcher(life)
        return True

    def _end_dispatcher(self, life: Life) -> None:
        # One that only waits for the lock has no workers, and its end is no excuse for anything.
        self._note(Kind.DISPATCHER_KILL if life.leads else Kind.WAITING_KILL, life.process.pid)
        self.supervisor.kill(life)

    def _stop_dispatcher(self) -> bool:
        life = self._life()
        if life is None:
            return False
        over = self._note(Kind.DISPATCHER_STOP, life.process.pid, lasts=True)
        life.process.send_signal(signal.SIGSTOP)
        # Popen knows of an end; a number alone could be another's by then.

        def go_on() -> None:
            life.process.send_signal(signal.SIGCONT)
            over()

        self._later(self._moment(15), go_on)
        return True

    def _life(self) -> Life | None:
        running = self.supervisor.running()
        return self.chance.choice(running) if running else None

    def _second(self) -> bool:
        if self.supervisor.beside:
            return False
        waits = self.chance.random() < 0.5
        over = self._note(Kind.SECOND, lasts=True)
        life = self.supervisor.second(self.standby if waits else self.supervisor.config)

        def end() -> None:
            if life.alive:
                self._end_dispatcher(life)
            over()

        self._later(self.chance.uniform(10, 20 if self.hurry else 60), end)
        return True

    # The server

    def _kill_server(self) -> bool:
        pid = self.postmaster()
        if pid is None:
            return False
        over = self._note(Kind.SERVER_KILL, pid, lasts=True)
        hit = processes.send(pid, signal.SIGKILL)
        self._later(2.0, over)
        return hit

    def _hit_backend(self, kind: Kind) -> bool:
        with self._connected() as connection:
            rows = _run(
                connection,
                "SELECT pid, application_name FROM pg_stat_activity WHERE application_name LIKE 'pepsi-%%' "
                "AND pid <> pg_backend_pid()",
            )
            if not rows:
                return False
            pid, name = self.chance.choice(rows)
            self._note(kind, pid, name)
            if kind is Kind.SESSION_END:
                _run(connection, "SELECT pg_terminate_backend(%(pid)s)", pid=pid)
                return True
        return processes.send(pid, signal.SIGKILL)

    def _hold(self) -> bool:
        """Let somebody forget a transaction that has locked rows and keeps an old snapshot."""
        held = contextlib.ExitStack()
        connection = held.enter_context(self._connected())
        _run(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ")
        _run(
            connection,
            "SELECT FROM pepsi.workqueue WHERE status IN ('pending', 'running') ORDER BY workqueue_id LIMIT 3 "
            "FOR UPDATE SKIP LOCKED",
        )
        over = self._note(Kind.HELD_ROWS, lasts=True)

        def let_go() -> None:
            held.close()
            over()

        self._later(self._moment(8), let_go)
        return True

    def _storm(self) -> bool:
        with self._connected() as connection:
            self._note(Kind.NOTIFY_STORM)
            for _ in range(STORM):
                channel = self.chance.choices(CHANNELS, (400, 1, 1, 20, 20))[0]
                _run(
                    connection,
                    "SELECT pg_notify(%(channel)s, %(payload)s)",
                    channel=channel,
                    payload=str(self.chance.random()),
                )
        return True

    def _reload(self) -> bool:
        stage = self.chance.choice((plan.SORT, plan.WORK, plan.SEND))
        key, value = self.chance.choice(
            (("PARALLELISM", self.chance.randint(1, 4)), ("QUEUE_LIMIT", self.chance.randint(1, 8)))
        )
        with self._connected() as connection:
            self._note(Kind.RELOAD)
            _run(
                connection,
                "INSERT INTO pepsi.config_override (section, key, value) VALUES (%(section)s, %(key)s, %(value)s) "
                "ON CONFLICT (section, key) DO UPDATE SET value = excluded.value",
                section=f"stage-{stage}",
                key=key,
                value=str(value),
            )
            _run(connection, "NOTIFY config_changed")
        return True

    # The network: one fault at a time, since what heals one heals all

    def _cut(self) -> bool:
        pattern = self.chance.choice(PATTERNS)
        self._note(Kind.CUT, sessions=pattern)
        return self.proxy.cut(pattern) > 0

    def _silence(self) -> bool:
        pattern = self.chance.choice(PATTERNS)
        long = not self.hurry and self.chance.random() < LONG_SILENCE
        return self._network(
            Kind.BLACKHOLE,
            pattern,
            100.0 if long else self._moment(15),
            lambda: self.proxy.blackhole(pattern, lasting=self.chance.random() < 0.5),
        )

    def _slow(self) -> bool:
        pattern = self.chance.choice(PATTERNS)
        seconds = self.chance.uniform(0.02, 0.3)
        return self._network(
            Kind.DELAY, pattern, self._moment(8), lambda: self.proxy.delay(seconds, pattern, lasting=True)
        )

    def _refuse(self) -> bool:
        def refuse() -> int:
            self.proxy.refuse()
            return self.proxy.cut(ALL)

        return self._network(Kind.REFUSE, ALL, self._moment(8), refuse)

    def _network(self, kind: Kind, pattern: str, seconds: float, begin: Callable[[], int]) -> bool:
        if self._network_busy:
            return False
        self._network_busy = True
        over = self._note(kind, sessions=pattern, lasts=True)
        begin()
        cut = kind is Kind.BLACKHOLE and self.chance.random() < 0.5

        def heal() -> None:
            self._network_busy = False
            if cut:
                self.proxy.cut(pattern)
            self.proxy.heal()
            over()

        self._later(seconds, heal)
        return True

    # The rest

    def _step(self) -> bool:
        self._note(Kind.CLOCK_STEP)
        stepped.step(self.clock, self.chance.choice((0.0, 1.0, -1.0, 3600.0, -3600.0, 86_400.0, -86_400.0 * 365)))
        return True

    def _moment(self, longest: float) -> float:
        """Return how long something lasts: mostly short, up to *longest* seconds."""
        return min(longest, 0.2 + self.chance.expovariate(4 / longest))

    @contextlib.contextmanager
    def _connected(self) -> Any:
        parameters = Parameters(dsn=self.dsn, application_name="chaos: mischief", statement_timeout=20)
        with contextlib.closing(sync.connect(parameters)) as connection:
            yield connection


def _run(connection: Connection, text: str, **params: Any) -> list[tuple[Any, ...]]:
    return sync.run(connection, Statement(text, params))
