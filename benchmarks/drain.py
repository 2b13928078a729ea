"""How fast the dispatcher and its workers move mail that waits, beside what the database itself carries."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from benchmarks import ceiling
from benchmarks.arena import Arena, Database
from benchmarks.dispatcher import dispatcher
from benchmarks.errors import BenchmarkError
from benchmarks.figures import interleaved
from benchmarks.filling import STAGE, arrive
from benchmarks.options import Options
from benchmarks.processor import Used, used
from benchmarks.progress import tell
from benchmarks.report import Goal, Key, Report

QUICK, FULL = 10_000, 20_000
"""Messages that wait at the beginning of each run."""
QUICK_ROUNDS, FULL_ROUNDS = 5, 9
GOAL = Goal(key="ratio", at_least=0.4)

_LOOK = 0.01
"""Seconds between two looks whether all is done: often enough for runs of seconds, and too seldom to slow them down."""
_TAIL = 256
"""The last to go is one of the last so many to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: seconds, and the processor time of whoever claims, of the workers, and of the server."""

    seconds: float
    claiming: float
    working: float
    serving: float


PARTS = ("claiming", "working", "serving")
"""Who uses processor time, as ``Run`` calls it."""


def run(arena: Arena, options: Options) -> Report:
    """Drain the same backlog several times, by the dispatcher and by plain connections in turn."""
    count, rounds = (FULL, FULL_ROUNDS) if options.full else (QUICK, QUICK_ROUNDS)
    runs: dict[str, list[Run]] = {"pepsi": [], "ceiling": []}
    with arena.database(lambda database: arrive(database, count)) as filled:
        for number, subject in enumerate(interleaved(list(runs), rounds), 1):
            with arena.copy(filled) as database:
                drain = _by_pepsi if subject == "pepsi" else _by_plain_connections
                runs[subject].append(drain(arena, database, options))
            rate = count / runs[subject][-1].seconds
            tell(f"drain: run {number} of {2 * rounds}, {subject}: {rate:.0f} messages/s")
    return report(runs["pepsi"], runs["ceiling"], count, options)


def report(pepsi: Sequence[Run], plain: Sequence[Run], count: int, options: Options) -> Report:
    """Compare runs of the dispatcher with runs of plain connections, each of *count* messages."""
    return Report(
        name="drain",
        heading=("messages a second", "median", "least", "greatest", "CPU: claiming", "working", "server"),
        rows=(_row("dispatcher and workers", count, pepsi), _row("plain connections", count, plain)),
        keys=_keys(pepsi, plain, count, options),
        goals=(GOAL,),
        notes=(
            f"Each run moves {count} messages of 1 kB through one stage that only finishes them.",
            f"QUEUE_LIMIT is {options.queue_limit}, all other options are as shipped.",
            f"Plain connections: one process claims {options.queue_limit} at a time, {ceiling.WORKERS} others work.",
            "Time runs from the first claim until the last row is gone; the dispatcher's workers start in that time.",
            "CPU is microseconds of processor time a message.",
        ),
    )


def _keys(pepsi: Sequence[Run], plain: Sequence[Run], count: int, options: Options) -> Mapping[str, Key]:
    rate, ceiling_rate = (count / median(run.seconds for run in runs) for runs in (pepsi, plain))
    keys: dict[str, Key] = {
        "messages_per_s": round(rate, 1),
        "ceiling_per_s": round(ceiling_rate, 1),
        "ratio": round(rate / ceiling_rate, 3),
        "queue_limit": options.queue_limit,
        "messages": count,
        "rounds": len(pepsi),
    }
    for subject, runs in (("pepsi", pepsi), ("ceiling", plain)):
        keys |= {f"{subject}_{part}_us": round(_microseconds(runs, part, count), 1) for part in PARTS}
    return keys


def _row(what: str, count: int, runs: Sequence[Run]) -> tuple[str, ...]:
    rates = [count / run.seconds for run in runs]
    times = [_microseconds(runs, part, count) for part in PARTS]
    return (what, *(f"{value:.0f}" for value in (median(rates), min(rates), max(rates), *times)))


def _microseconds(runs: Sequence[Run], part: str, count: int) -> float:
    return 1e6 * median(float(getattr(run, part)) for run in runs) / count


def _by_pepsi(arena: Arena, database: Database, options: Options) -> Run:
    keys = {"PROGRAM": "pepsi-stage-discard", "QUEUE_LIMIT": str(options.queue_limit)}
    return through(arena, database, {STAGE: keys})


def through(arena: Arena, database: Database, stages: Mapping[str, Mapping[str, str]]) -> Run:
    """Have all that waits in *database* moved through *stages* by a dispatcher. The last one finishes it."""
    ids = [row[0] for row in database.rows("SELECT workqueue_id FROM pepsi.workqueue ORDER BY workqueue_id")]
    with dispatcher(arena.directory, database, stages) as running:
        begun = running.wait_until(lambda: not _waits(database, ids[0]))
        before = used(running.pid), used(database.server_pid)
        # The fewest first: to look for all of them again and again would take a good part of a processor.
        for those in (ids[-1:], ids[-_TAIL:], ids):
            ended = running.wait_until(partial(_gone, database, those), look=_LOOK)
        after = used(running.pid), used(database.server_pid)
    return _run(ended - begun, before, after)


def _by_plain_connections(arena: Arena, database: Database, options: Options) -> Run:
    server = database.server_pid
    with ceiling.workers(database.dsn) as pipes:
        before = used(os.getpid(), without=server), used(server)
        seconds, moved = ceiling.move_all(database.dsn, pipes, options.queue_limit)
        after = used(os.getpid(), without=server), used(server)
    left = database.rows("SELECT count(*) FROM pepsi.workqueue")[0][0]
    if left:
        raise BenchmarkError(f"plain connections moved {moved} messages and left {left}")
    return _run(seconds, before, after)


def _run(seconds: float, before: tuple[Used, Used], after: tuple[Used, Used]) -> Run:
    ours, servers = (late - early for early, late in zip(before, after, strict=True))
    return Run(
        seconds=seconds,
        claiming=ours.own,
        working=ours.children,
        serving=servers.own + servers.children,
    )


def _waits(database: Database, number: int) -> bool:
    text = "SELECT FROM pepsi.workqueue WHERE workqueue_id = %(number)s AND status = 'pending'"
    return bool(database.rows(text, number=number))


def _gone(database: Database, ids: Sequence[int]) -> bool:
    text = "SELECT FROM pepsi.workqueue WHERE workqueue_id = ANY (%(ids)s) LIMIT 1"
    return not database.rows(text, ids=list(ids))
