"""How long a message waits for its stage when there is nothing else to do."""

import random
import shlex
import sys
import time
from collections.abc import Iterator, Sequence

from psycopg2.extensions import connection as Connection

from benchmarks import stamp
from benchmarks.arena import Arena
from benchmarks.dispatcher import dispatcher
from benchmarks.figures import percentile
from benchmarks.filling import message
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.record import Record
from benchmarks.report import Report
from pepsi.db import sync
from pepsi.db.statement import Statement

RATE = 20
"""Messages a second."""
WARM, QUICK, FULL = 2 * RATE, 30 * RATE, 300 * RATE
"""Messages sent before it counts, and that count."""
STAGE = "stamp"
SEED = 1


def run(arena: Arena, options: Options) -> Report:
    """Put messages in one at a time, and read from the stage's record when it was given each."""
    count = FULL if options.full else QUICK
    record = Record(arena.directory / "record")
    record.path.unlink(missing_ok=True)
    keys = {"PROGRAM": shlex.join([sys.executable, stamp.__file__]), "RECORD": str(record.path)}
    with (
        arena.database(lambda database: None) as database,
        dispatcher(arena.directory, database, {STAGE: keys}) as running,
    ):
        _send(database.connection, WARM)
        running.wait_until(lambda: len(record.read()) == WARM)
        tell(f"latency: {count} messages at {RATE} a second take {count / RATE:.0f} s")
        sent = _send(database.connection, count)
        running.wait_until(lambda: len(record.read()) == WARM + count, look=0.1)
    waits = [(record.moments[number].begun - committed) / 1e6 for number, (_, committed) in sent.items()]
    commits = [(committed - asked) / 1e6 for asked, committed in sent.values()]
    return report(waits, commits)


def report(waits: Sequence[float], commits: Sequence[float]) -> Report:
    """Sum up how long messages waited after their commit, and how long that took, in milliseconds."""
    return Report(
        name="latency",
        heading=("ms", "p50", "p99", "max"),
        rows=tuple(
            (what, *(f"{value:.2f}" for value in (percentile(each, 50), percentile(each, 99), max(each))))
            for what, each in (("from the commit to the stage's start", waits), ("the commit itself", commits))
        ),
        keys={
            "p50_ms": round(percentile(waits, 50), 3),
            "p99_ms": round(percentile(waits, 99), 3),
            "max_ms": round(max(waits), 3),
            "commit_p50_ms": round(percentile(commits, 50), 3),
            "messages": len(waits),
            "rate_per_s": RATE,
        },
        notes=(
            f"{len(waits)} messages, {RATE} a second at uneven distances, each committed alone; the worker is warm.",
            "Time runs from the moment when the sender knows that its message is committed, which waits for the disk.",
        ),
    )


def _send(connection: Connection, count: int) -> dict[int, tuple[int, int]]:
    """Put *count* messages in, and return when each was asked to be committed and when it was, by its id."""
    sent = {}
    begun = time.monotonic_ns()
    for number, due in enumerate(_moments(count, random.Random(SEED))):
        time.sleep(max(0.0, due - (time.monotonic_ns() - begun) / 1e9))
        sync.run(connection, Statement("BEGIN"))
        ((workqueue_id,),) = sync.run(connection, _inject(number))
        asked = time.monotonic_ns()
        sync.run(connection, Statement("COMMIT"))
        sent[workqueue_id] = asked, time.monotonic_ns()
    return sent


def _moments(count: int, chance: random.Random) -> Iterator[float]:
    """Yield when each message is due, in seconds: at the rate, but in step with no timer."""
    for number in range(count):
        yield (number + chance.random()) / RATE


def _inject(number: int) -> Statement:
    return Statement(
        "SELECT pepsi.workqueue_inject(%(stage)s, 'somebody@example.org', '{everybody@example.net}', %(message)s)",
        {"stage": STAGE, "message": message(number)},
    )
