"""How long the operator's tool takes to say that there is nothing, beside psql with a like question."""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.arena import Arena
from benchmarks.errors import BenchmarkError
from benchmarks.figures import interleaved
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.report import Report
from pepsi.db.binaries import find

WARM, QUICK, FULL = 2, 15, 61
"""Runs of each: that do not count, and that do."""
TOOL, PSQL, PYTHON = "pepsi-queue list", "psql -c", "python -c 'import twisted.internet.reactor, psycopg2'"
CHECKOUT = Path(__file__).parent.parent
QUESTION = "SELECT workqueue_id, stage, status, mail_from, subject FROM pepsi.workqueue ORDER BY 1 LIMIT 100"


@dataclass(frozen=True, slots=True)
class Start:
    """One run of a program, in milliseconds: of the clock, and of the processors."""

    real: float
    processor: float


def run(arena: Arena, options: Options) -> Report:
    """Start each so many times, in turns, on the same empty queue."""
    rounds = FULL if options.full else QUICK
    # Compiled modules as an installation has them, whatever the environment says of writing such.
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(arena.directory / "compiled")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with arena.database(lambda database: None) as database:
        file = arena.directory / "tool.conf"
        file.write_text(f"[pepsi-postgres]\nDSN = {database.dsn}\n")
        commands = {
            TOOL: [sys.executable, "-m", "pepsi.tools.queue.program", "-c", str(file), "list"],
            PSQL: [psql(environ), "-X", database.dsn, "-c", QUESTION],
            PYTHON: [sys.executable, "-c", "import twisted.internet.reactor, psycopg2"],
        }
        for command in commands.values():
            for _ in range(WARM):
                start(command, environ)
        tell(f"tool: {rounds} starts of each")
        taken: dict[str, list[Start]] = {name: [] for name in commands}
        for name in interleaved(list(commands), rounds):
            taken[name].append(start(commands[name], environ))
    return report(taken)


def report(taken: Mapping[str, Sequence[Start]]) -> Report:
    """Sum up how many milliseconds each of the programs took, run by run."""
    real = {name: [each.real for each in starts] for name, starts in taken.items()}
    processor = {name: median(each.processor for each in starts) for name, starts in taken.items()}
    middle = {name: median(values) for name, values in real.items()}
    return Report(
        name="tool",
        heading=("ms", "median", "least", "greatest", "CPU"),
        rows=tuple(
            (name, *(f"{value:.0f}" for value in (middle[name], min(values), max(values), processor[name])))
            for name, values in real.items()
        ),
        keys={
            "over_psql": round(middle[TOOL] / middle[PSQL], 2),
            "queue_ms": round(middle[TOOL], 1),
            "psql_ms": round(middle[PSQL], 1),
            "imports_ms": round(middle[PYTHON], 1),
            "queue_cpu_ms": round(processor[TOOL], 1),
            "psql_cpu_ms": round(processor[PSQL], 1),
            "imports_cpu_ms": round(processor[PYTHON], 1),
            "starts": len(taken[TOOL]),
        },
        notes=("Whole processes, from start to end, with a warm cache; the last line is what no code of ours costs.",),
    )


def psql(environ: Mapping[str, str]) -> str:
    """Return the path of psql: the program itself, not Debian's wrapper, which takes longer than it."""
    beside = find(environ).directory / "psql"
    found = str(beside) if beside.exists() else shutil.which("psql", path=environ.get("PATH"))
    if found is None:
        raise BenchmarkError("psql is not installed here, and the benchmark has nothing to compare with")
    return found


def start(command: Sequence[str], environ: Mapping[str, str]) -> Start:
    """Run *command* to its end."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environ, cwd=CHECKOUT, capture_output=True, check=False)
    ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise BenchmarkError(f"{command[0]} failed: {done.stderr.decode(errors='replace')}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Start(real=(ended - began) * 1000, processor=used * 1000)
