"""Runs the dispatcher as systemd would: whenever it has ended it is started again."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pepsi.db import leash
from tests.chaos.faults import Fault, Kind
from tests.chaos.report import Gauge

PAUSE = 1.0
"""Seconds between an end and the next start."""
GIVING_WAY = 3.0
"""Seconds between the end of the workers and that of a dispatcher that was replaced, at most."""
STOP = 60.0
"""Seconds that a dispatcher may take for a stop in good order."""

TROUBLE = re.compile(r"Traceback \(most recent call last\)|Unhandled error in Deferred|Unhandled Error")


@dataclass(slots=True)
class Life:
    """One process of a dispatcher. *why* says how it ended if that was our doing."""

    process: "subprocess.Popen[bytes]"
    log: Path
    begun: float
    why: str = ""
    alive: bool = True
    gauge: Gauge | None = None
    """How it was soon after it had begun."""

    @property
    def leads(self) -> bool:
        """Whether it has got the lock, by what it says."""
        return b"dispatching under epoch" in self.log.read_bytes()


@dataclass(slots=True)
class Supervisor:
    """Runs dispatchers of the configuration *config*, and others beside it for a while."""

    directory: Path
    config: Path
    clock: Path
    environ: Mapping[str, str]
    lives: list[Life] = field(default_factory=list)
    main: Life | None = None
    beside: list[Life] = field(default_factory=list)
    restarts: int = 0
    broken: bool = False
    """Whether the configuration is broken just now, and an end with 78 in order."""
    replaced: list[Fault] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Ends that nobody can account for."""
    _due: float = 0.0

    def start(self) -> Life:
        """Start the dispatcher."""
        self.main = self._spawn(self.config)
        return self.main

    def second(self, config: Path) -> Life:
        """Start another one beside it, which is not started again."""
        life = self._spawn(config)
        self.beside.append(life)
        return life

    def tend(self) -> None:
        """Notice ends, and start again what has ended. To be called all the time."""
        for life in self.lives:
            if life.alive and life.process.poll() is not None:
                self._ended(life)
        self.beside = [life for life in self.beside if life.alive]
        if self.main is not None and not self.main.alive and time.monotonic() >= self._due:
            self.restarts += 1
            self.start()

    def running(self) -> list[Life]:
        """Return all dispatchers that run, this and others."""
        return [life for life in self.lives if life.alive]

    def kill(self, life: Life) -> None:
        """Kill *life* without a word."""
        life.why = "killed"
        life.process.kill()

    def stop(self) -> int:
        """Stop the dispatcher in good order and return its exit status. Raises subprocess.TimeoutExpired."""
        assert self.main is not None
        life, self.main = self.main, None
        life.why = "stopped"
        life.process.send_signal(signal.SIGTERM)
        status = life.process.wait(STOP)
        life.alive = False
        return status

    def close(self) -> None:
        """Leave none behind."""
        self.main = None
        for life in self.running():
            with suppress(ProcessLookupError):
                life.process.send_signal(signal.SIGCONT)
            life.process.kill()
            life.process.wait()
            life.alive = False

    def troubles(self) -> list[str]:
        """Return the lines of the logs that must never be said."""
        found = []
        for life in self.lives:
            for number, line in enumerate(life.log.read_text("utf-8", "replace").splitlines(), 1):
                if TROUBLE.search(line):
                    found.append(f"{life.log.name}:{number}: {line}")
        return found

    def _spawn(self, config: Path) -> Life:
        log = self.directory / f"dispatcher-{len(self.lives) + 1}.log"
        command = [sys.executable, "-bb", "-m", "tests.chaos.stepped", str(self.clock), "pepsi.tap.dispatch"]
        command += ["-c", str(config), "serve"]
        # Whatever becomes of us, it must not stay.
        ids = (os.getuid(), os.getgid(), os.getpid(), int(signal.SIGKILL))
        leashed = [sys.executable, "-I", "-S", leash.__file__, *map(str, ids), *command]
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                leashed, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, env=dict(self.environ)
            )
        life = Life(process, log, time.monotonic())
        self.lives.append(life)
        return life

    def _ended(self, life: Life) -> None:
        life.alive = False
        status = life.process.returncode
        self._due = time.monotonic() + PAUSE
        # It ends with 1 if the database is away at its start, if another one holds the lock, and if one replaced it.
        expected = status == -signal.SIGKILL if life.why == "killed" else status in ((1, 78) if self.broken else (1,))
        if status == 1 and life.leads:
            # It gave way to another one, and ended its workers on the way.
            self.replaced.append(Fault(Kind.DISPATCHER_REPLACED, self._due - PAUSE - GIVING_WAY, self._due - PAUSE))
        if not expected:
            self.strange.append(f"{life.log.name}: ended with {status}{', ' + life.why if life.why else ''}")
