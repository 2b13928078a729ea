"""Faults of processes: workers and dispatchers are killed, suspended, doubled; their wall clock is set."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import processes, record, stepped
from tests.chaos.faults import Kind
from tests.chaos.ledger import Ledger
from tests.chaos.supervisor import Life, Supervisor

STEPS = (0.0, 1.0, -1.0, 3600.0, -3600.0, 86_400.0, -86_400.0 * 365)
"""Seconds that the wall clock is off."""


@dataclass(slots=True)
class OnProcesses:
    """Hits the processes of *supervisor*. *hurry* leaves out what takes long.

    Each method returns whether there was something to hit.
    """

    ledger: Ledger
    supervisor: Supervisor
    clock: Path
    standby: Path
    hurry: bool

    def _worker(self) -> int | None:
        """Return a worker, one that is at a message if there is one: most are idle at any moment."""
        found = {pid for life in self.supervisor.running() for pid in processes.children(life.process.pid)}
        busy = found.intersection(record.busy(self.supervisor.directory / "record"))
        return self.ledger.chance.choice(sorted(busy or found)) if found else None

    def kill_worker(self) -> bool:
        pid = self._worker()
        if pid is None:
            return False
        # Before the signal, so that nothing can come of it earlier than that.
        self.ledger.note(Kind.WORKER_KILL, pid)
        return processes.send(pid, signal.SIGKILL)

    def stop_worker(self) -> bool:
        pid = self._worker()
        if pid is None:
            return False
        over = self.ledger.note(Kind.WORKER_STOP, pid, lasts=True)
        processes.send(pid, signal.SIGSTOP)
        self.ledger.later(self.ledger.moment(15), lambda: self._go_on(pid, over))
        return True

    def _go_on(self, pid: int, over: Callable[[], None]) -> None:
        processes.send(pid, signal.SIGCONT)
        over()

    def kill_dispatcher(self) -> bool:
        life = self._life()
        if life is None:
            return False
        self._end_dispatcher(life)
        return True

    def _end_dispatcher(self, life: Life) -> None:
        # One that only waits for the lock has no workers, and its end is no excuse for anything.
        self.ledger.note(Kind.DISPATCHER_KILL if life.leads else Kind.WAITING_KILL, life.process.pid)
        self.supervisor.kill(life)

    def stop_dispatcher(self) -> bool:
        life = self._life()
        if life is None:
            return False
        over = self.ledger.note(Kind.DISPATCHER_STOP, life.process.pid, lasts=True)
        life.process.send_signal(signal.SIGSTOP)
        # Popen knows of an end; a number alone could be another's by then.

        def go_on() -> None:
            life.process.send_signal(signal.SIGCONT)
            over()

        self.ledger.later(self.ledger.moment(15), go_on)
        return True

    def _life(self) -> Life | None:
        running = self.supervisor.running()
        return self.ledger.chance.choice(running) if running else None

    def second(self) -> bool:
        if self.supervisor.beside:
            return False
        waits = self.ledger.chance.random() < 0.5
        over = self.ledger.note(Kind.SECOND, lasts=True)
        life = self.supervisor.second(self.standby if waits else self.supervisor.config)

        def end() -> None:
            if life.alive:
                self._end_dispatcher(life)
            over()

        self.ledger.later(self.ledger.chance.uniform(10, 20 if self.hurry else 60), end)
        return True

    def step(self) -> bool:
        self.ledger.note(Kind.CLOCK_STEP)
        stepped.step(self.clock, self.ledger.chance.choice(STEPS))
        return True
