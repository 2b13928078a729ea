"""One chaos run: warm up, load and faults, then quiet, until everything has come to its end; then the verdict."""

import contextlib
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg2

from tests.chaos import faults, oracle, processes, record
from tests.chaos.faults import Kind
from tests.chaos.ledger import Ledger
from tests.chaos.load import Load
from tests.chaos.mischief import Mischief
from tests.chaos.on_network import OnNetwork
from tests.chaos.on_processes import OnProcesses
from tests.chaos.on_server import OnServer
from tests.chaos.oracle import History, Row
from tests.chaos.outage import is_outage
from tests.chaos.puppet import DSN
from tests.chaos.report import Gauge, Report
from tests.chaos.scene import MAX_RUNTIME, Scene, scene
from tests.chaos.supervisor import Supervisor

ROOT = Path(__file__).resolve().parent.parent.parent
WARM_UP = 200
"""Messages before the first look at the dispatcher."""
PATIENCE = 60.0
"""Seconds for what takes a moment."""
DRAIN = 300.0
"""Seconds after the last fault within which everything must have come to its end."""
CALM = 1 / 3
"""The part of the run, at its end, in which no dispatcher is killed: what it leaks must have time to show."""
TENDING = 0.5
"""Seconds between two looks at the server. Killed, it cannot start again before the last of its backends has ended."""
HURRY = 300.0
"""A shorter run has its faults closer together."""
OUTCOME = MAX_RUNTIME + 5.0
"""Seconds from the begin of a message until its outcome is on the disk or given up, and a little more."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What is to be run. *rate*: messages a second."""

    seed: int
    seconds: float
    rate: float = 40.0
    keep: Path | None = None


class Stuck(Exception):
    """What must come about did not."""


@dataclass(slots=True)
class Run:
    """A run under way."""

    orders: Orders
    scene: Scene
    supervisor: Supervisor
    load: Load
    ledger: Ledger
    mischief: Mischief
    report: Report
    say: Callable[[str], None]
    _pause: threading.Event = field(default_factory=threading.Event)
    _tended: float = 0.0

    def play(self) -> None:
        """Do it all; what is found is in the report."""
        self.supervisor.start()
        self.load.warm(WARM_UP)
        self._until(self._still, PATIENCE, "the first messages did not get through")
        self.report.start = self._gauge()
        self.say("warm; the faults begin")
        self.load.start()
        begun = time.monotonic()
        self._faults(begun)
        self.report.seconds = time.monotonic() - begun
        self.say("the faults are over")
        self.ledger.end()
        self.load.stop()
        begun = time.monotonic()
        try:
            self._until(self._still, DRAIN, "not everything has come to its end", release=True)
        except Stuck as error:
            self.report.violations.append(str(error))
        self.report.drain_seconds = time.monotonic() - begun
        self._judge()

    def _faults(self, begun: float) -> None:
        chance = random.Random(self.orders.seed)
        gap = self._gap()
        calm_from = begun + self.orders.seconds * (1 - CALM)
        busy = faults.deal(chance)
        calm = faults.deal(chance, frozenset({Kind.DISPATCHER_KILL, Kind.SECOND}))
        due, minute = begun + 1, begun + 60
        while (now := time.monotonic()) < begun + self.orders.seconds:
            if now >= due:
                self.mischief.do(next(busy if now < calm_from else calm))
                due = now + chance.uniform(0.2, 1.8) * gap
            if now >= minute:
                minute += 60
                self.say(self._progress(now - begun))
            self._turn()

    def _gap(self) -> float:
        # A short run deals the whole deck before the calm begins.
        return min(3.0, self.orders.seconds * (1 - CALM) * 0.9 / faults.DECK)

    def _turn(self) -> None:
        """Do what must be done all the time, and wait a little."""
        now = time.monotonic()
        if now >= self._tended + TENDING:
            self._tended = now
            self.scene.server.tend()
        self.supervisor.tend()
        self.ledger.tend()
        self._watch()
        self._pause.wait(0.02)

    def _watch(self) -> None:
        """Look at the last dispatcher from when it has come up."""
        life = self.supervisor.main
        if life is None or not life.alive:
            return
        if life.gauge is None and time.monotonic() > life.begun + 10:
            with contextlib.suppress(OSError):
                life.gauge = _gauge(life.process.pid)

    def _until(self, condition: Callable[[], bool], seconds: float, what: str, *, release: bool = False) -> None:
        until, look = time.monotonic() + seconds, 0.0
        while True:
            self._turn()
            now = time.monotonic()
            if now < look:
                continue
            look = now + 0.3
            try:
                if release:
                    self.scene.rows(
                        "SELECT pepsi.workqueue_resume(workqueue_id) FROM pepsi.workqueue WHERE status = 'paused'"
                    )
                if condition():
                    return
            except psycopg2.Error as error:
                if not is_outage(error):
                    raise
            if now > until:
                raise Stuck(f"{what} within {seconds:.0f} s")

    def _still(self) -> bool:
        """Whether no message is on its way, and no worker lives."""
        life = self.supervisor.main
        if life is None or not life.alive or processes.children(life.process.pid):
            return False
        return not self.scene.rows(
            "SELECT FROM pepsi.workqueue WHERE status IN ('pending', 'running', 'paused') LIMIT 1"
        )

    def _gauge(self) -> Gauge:
        assert self.supervisor.main is not None
        return _gauge(self.supervisor.main.process.pid)

    def _judge(self) -> None:
        report, scene = self.report, self.scene
        life = self.supervisor.main
        if life is not None and life.alive:
            report.end, report.last_start = self._gauge(), life.gauge
            report.last_life = time.monotonic() - life.begun
            if report.leaked_descriptors:
                report.violations.append(f"{report.leaked_descriptors} descriptors were leaked")
        ((report.sessions_left,),) = scene.rows(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pepsi-stage-%%'"
        )
        if report.sessions_left:
            report.violations.append(f"{report.sessions_left} sessions of workers are left")
        try:
            status = self.supervisor.stop()
            if status != 0:
                report.violations.append(f"the dispatcher ended with {status} when it was asked to stop")
        except subprocess.TimeoutExpired:
            report.violations.append("the dispatcher did not stop")
        self.supervisor.close()
        orphans = processes.of_run(scene.directory)
        report.orphans = len(orphans)
        report.violations += [f"process {pid} is left: {processes.told(pid)}" for pid in orphans]
        rows = [
            Row(number, stage, state_, subject, state)
            for number, stage, state_, subject, state in scene.rows(
                "SELECT workqueue_id, stage, status, subject, state FROM pepsi.workqueue ORDER BY workqueue_id"
            )
        ]
        entries = record.read(scene.directory / "record")
        done = [*self.ledger.faults, *self.supervisor.replaced]
        report.verdict = oracle.judge(History(self.load.sent, entries, done, rows, OUTCOME))
        report.count(done)
        report.missed_faults = self.mischief.missed
        report.restarts = self.supervisor.restarts
        if self.load.broken:
            report.violations.append(self.load.broken)
        report.violations += self.supervisor.strange + self.supervisor.troubles() + report.verdict.violations

    def _progress(self, seconds: float) -> str:
        life = self.supervisor.main
        memory = "down"
        if life is not None and life.alive:
            with contextlib.suppress(OSError):
                gauge = _gauge(life.process.pid)
                memory = f"{gauge.memory / 2**20:.1f} MiB, {gauge.descriptors} descriptors"
        done = len(self.load.sent)
        return f"{seconds:.0f} s: {done} messages, {len(self.ledger.faults)} faults; the dispatcher: {memory}"


def chaos(orders: Orders, say: Callable[[str], None]) -> Report:
    """Carry out *orders*, and return what came of it. Nothing of it is left behind, whatever happens."""
    report = Report(orders.seed, orders.seconds)
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(scene())
        environ = {**os.environ, "PYTHONPATH": str(ROOT), DSN: place.proxied}
        supervisor = Supervisor(place.directory, place.config, place.clock, environ)
        stack.callback(_clear, place.directory)
        stack.callback(supervisor.close)
        load = Load(place.dsn, place.directory, orders.seed, orders.rate)
        stack.callback(load.close)
        hurry = orders.seconds < HURRY
        ledger = Ledger(random.Random(orders.seed + 1))
        stack.callback(ledger.end)
        mischief = Mischief(
            OnProcesses(ledger, supervisor, place.clock, place.standby, hurry),
            OnServer(ledger, supervisor, place.dsn, place.postmaster),
            OnNetwork(ledger, place.proxy, hurry),
        )
        try:
            Run(orders, place, supervisor, load, ledger, mischief, report, say).play()
        except Stuck as error:
            report.violations.append(str(error))
        finally:
            if orders.keep is not None:
                _keep(place, orders.keep, ledger)
    return report


def _gauge(pid: int) -> Gauge:
    return Gauge(processes.descriptors(pid), processes.resident(pid))


def _clear(directory: Path) -> None:
    """Leave no process behind, not even one that was suspended."""
    for pid in processes.of_run(directory):
        processes.end(pid)


def _keep(place: Scene, target: Path, ledger: Ledger) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in [*place.directory.iterdir(), place.server_log]:
        if path.is_file() and not path.name.startswith("seen-"):
            (target / path.name).write_bytes(path.read_bytes())
    (target / "faults").write_text("".join(f"{fault}\n" for fault in ledger.faults))
