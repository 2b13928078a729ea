"""How fast mail moves while somebody holds an old snapshot: nothing that ends meanwhile can be cleared away."""

import itertools
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from benchmarks import stamp
from benchmarks.arena import Arena, Database, connect
from benchmarks.dispatcher import dispatcher
from benchmarks.errors import BenchmarkError
from benchmarks.filling import spread
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.record import Record
from benchmarks.report import Goal, Key, Report
from pepsi.db import sync
from pepsi.db.statement import Statement

QUICK, FULL = 20_000, 100_000
"""Messages that wait at the beginning of each run."""
LIMITS = (4, 64)
SENDERS = (1, 20_000)
PART = 10
"""The first and the last of so many parts of the messages are compared."""
WARM_UP = 2.0
"""Seconds that are left out: the workers start."""
STAGE = "stamp"
GOALS = (Goal(key="last_over_first", at_least=0.9), Goal(key="snapshot_over_clean", at_least=0.7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Messages a second: of all, of the first part and of the last."""

    overall: float
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Case:
    """What a queue and a dispatcher are like."""

    queue_limit: int
    senders: int

    def __str__(self) -> str:
        """In words."""
        return f"QUEUE_LIMIT {self.queue_limit}, {self.senders} sender{'' if self.senders == 1 else 's'}"


def run(arena: Arena, options: Options) -> Report:
    """Drain the same mail with and without an old snapshot held open."""
    count = FULL if options.full else QUICK
    found: dict[tuple[Case, bool], Rates] = {}
    for senders in SENDERS:
        with arena.database(partial(spread, count=count, stage=STAGE, senders=senders)) as filled:
            for limit, held in itertools.product(LIMITS, (False, True)):
                case = Case(limit, senders)
                with arena.copy(filled) as database, snapshot(database) if held else nullcontext():
                    found[case, held] = _drain(arena, database, case, count)
                how = "with" if held else "without"
                tell(f"snapshot: {case}, {how} an old snapshot: {found[case, held].overall:.0f} messages/s")
    return report(found, count)


@contextmanager
def snapshot(database: Database) -> Iterator[None]:
    """Hold one open for the length of a block, as a dump or a forgotten transaction does."""
    with closing(connect(database.dsn)) as connection:
        sync.run(connection, Statement("BEGIN ISOLATION LEVEL REPEATABLE READ"))
        sync.run(connection, Statement("SELECT FROM pepsi.schema_release"))
        yield


def _drain(arena: Arena, database: Database, case: Case, count: int) -> Rates:
    record = Record(arena.directory / "record")
    record.path.unlink(missing_ok=True)
    keys = {
        "PROGRAM": shlex.join([sys.executable, stamp.__file__]),
        "RECORD": str(record.path),
        "QUEUE_LIMIT": str(case.queue_limit),
    }
    with dispatcher(arena.directory, database, {STAGE: keys}) as running:
        running.wait_until(lambda: len(record.read()) == count, look=0.1)
    return rates([moment.begun / 1e9 for moment in record.moments.values()])


def rates(moments: Sequence[float]) -> Rates:
    """Return the rates of messages that were begun at *moments*, in seconds.

    Raises BenchmarkError when too few are left after the warm-up.
    """
    ordered = sorted(moments)
    part = len(ordered) // PART
    counted = [moment for moment in ordered if moment >= ordered[0] + WARM_UP]
    if len(counted) < 2 * part or part < 2:
        raise BenchmarkError(f"{len(counted)} of {len(ordered)} messages were begun after {WARM_UP:g} s: too few")
    return Rates(overall=_rate(counted), first=_rate(counted[:part]), last=_rate(counted[-part:]))


def _rate(moments: Sequence[float]) -> float:
    return (len(moments) - 1) / (moments[-1] - moments[0])


def report(found: dict[tuple[Case, bool], Rates], count: int) -> Report:
    """Compare the last messages with the first, and runs with a snapshot with those without."""
    cases = list(dict.fromkeys(case for case, _ in found))
    steady = {case: found[case, True].last / found[case, True].first for case in cases}
    beside = {case: found[case, True].overall / found[case, False].overall for case in cases}
    keys: dict[str, Key] = {
        "last_over_first": round(min(steady.values()), 3),
        "snapshot_over_clean": round(min(beside.values()), 3),
        "messages": count,
    }
    for case in cases:
        suffix = f"{case.queue_limit}_{case.senders}"
        keys |= {f"last_over_first_{suffix}": round(steady[case], 3)}
        keys |= {f"snapshot_over_clean_{suffix}": round(beside[case], 3)}
    return Report(
        name="snapshot",
        heading=("messages a second", "in all", "first tenth", "last tenth"),
        rows=tuple(
            (
                f"{case}, {'an old snapshot' if held else 'none'}",
                *(f"{value:.0f}" for value in (each.overall, each.first, each.last)),
            )
            for (case, held), each in found.items()
        ),
        keys=keys,
        goals=GOALS,
        notes=(
            f"Each run moves {count} messages through one stage that only finishes them; the fair order is on.",
            "A transaction of another session holds its snapshot from before the first claim until after the last.",
            f"The first {WARM_UP:g} seconds of each run are left out. The keys are those of the worst case.",
        ),
    )
