"""On what machine a benchmark ran, how its database keeps what it is told, and whether anybody else was at work."""

import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from psycopg2.extensions import connection as Connection

from benchmarks.report import Key
from pepsi.db import sync
from pepsi.db.statement import Statement

QUIET = 0.15
"""Part of the processors' time that others may use before figures are only indicative."""

_CHECKOUT = Path(__file__).resolve().parent.parent
_BLOCK = b"\0" * 8192
_SETTINGS = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers")


@dataclass(frozen=True, slots=True)
class Load:
    """How busy the machine is. *others* is a part of all processors' time; *average* is that of the last minute."""

    others: float
    average: float

    @property
    def quiet(self) -> bool:
        """Whether figures taken now are worth comparing."""
        return self.others <= QUIET

    def __str__(self) -> str:
        """How it is, in words that fit into a sentence."""
        return (
            f"others used {self.others:.0%} of the processors' time when this began, and the load average was "
            f"{self.average:.1f}"
        )


def load(seconds: float = 1.0, sleep: Callable[[float], None] = time.sleep) -> Load:
    """Look for so many *seconds* how busy the machine is, while this process does nothing itself.

    The load average alone would not do: after a benchmark it still shows that one for minutes.
    """
    before = _processor_time()
    sleep(seconds)
    after = _processor_time()
    total = after[1] - before[1]
    return Load((after[0] - before[0]) / total if total else 0.0, os.getloadavg()[0])


def facts(connection: Connection, directory: Path) -> dict[str, Key]:
    """Return what a figure means little without. *directory* is where the database of *connection* has its files."""
    found: dict[str, Key] = {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "postgresql": str(_shown(connection, "server_version")),
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "file_system": _file_system(directory),
        "fdatasync_ms": round(_sync_time(directory) * 1e3, 2),
    }
    return found | {name: str(_shown(connection, name)) for name in _SETTINGS}


def _shown(connection: Connection, setting: str) -> object:
    return sync.run(connection, Statement("SELECT pg_catalog.current_setting(%(name)s)", {"name": setting}))[0][0]


def _processor_time() -> tuple[int, int]:
    """Return how long all processors were busy since the start of the machine, and how long in all."""
    names, *_ = Path("/proc/stat").read_text("ascii").splitlines()
    user, nice, system, idle, waiting, irq, softirq, stolen, *_ = map(int, names.split()[1:])
    busy = user + nice + system + irq + softirq + stolen
    return busy, busy + idle + waiting


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=_CHECKOUT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _file_system(directory: Path) -> str:
    resolved = directory.resolve()
    best, kind = Path("/"), "unknown"
    for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines():
        mounted, _, rest = line.partition(" - ")
        place = Path(mounted.split()[4].replace("\\040", " "))
        if resolved.is_relative_to(place) and len(place.parts) >= len(best.parts):
            best, kind = place, rest.split()[0]
    return kind


def _sync_time(directory: Path, writes: int = 100) -> float:
    """Return the seconds that one block takes to the disk. A few microseconds mean that it does not get there."""
    times = []
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        for _ in range(writes):
            begun = time.perf_counter()
            file.write(_BLOCK)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return median(times)
