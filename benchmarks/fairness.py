"""Whether much mail of one sender holds up the others, whether time is shared evenly, and whether mail starves."""

import random
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg2.extensions import connection as Connection

from benchmarks import toil
from benchmarks.arena import Arena, Database
from benchmarks.dispatcher import Dispatcher, dispatcher
from benchmarks.errors import BenchmarkError
from benchmarks.figures import jain, percentile
from benchmarks.filling import spread
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.record import Record
from benchmarks.report import Goal, Key, Report
from benchmarks.shares import Work, shares
from benchmarks.starvation import Arrived, worst_wait
from pepsi.db import sync
from pepsi.db.statement import Statement

STAGE = "toil"
SEED = 1
GOALS = (
    Goal(key="light_p99_over_alone", at_most=2.0),
    Goal(key="jain", at_least=0.95),
    Goal(key="worst_wait_over_bound", at_most=1.2),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured. Costs are milliseconds that the stage takes for a message."""

    light: int
    """Messages of the light sender, of which one comes each second."""
    bulk: int
    fifo_light: int
    fifo_bulk: int
    """The same without the fair order, where each light message waits for all of the bulk before it."""
    windows: int
    """Of ten seconds, in which ten senders wait."""
    singles: int
    """Senders of one message each."""


QUICK = Size(light=25, bulk=10_000, fifo_light=5, fifo_bulk=3_000, windows=2, singles=5_000)
FULL = Size(light=500, bulk=100_000, fifo_light=500, fifo_bulk=100_000, windows=6, singles=50_000)
COST = 20
CHEAP, DEAR, SENDERS = 20, 200, 10
WORKERS = 4
SINGLE_COST, SINGLES_A_SECOND, BURST = 4, 1500, 50
WARM = 20
FIFO_PERCENT = 10


def run(arena: Arena, options: Options) -> Report:
    """Measure the three one after the other."""
    size = FULL if options.full else QUICK
    waits = {
        "alone": _light(arena, bulk=0, light=size.light),
        "beside bulk": _light(arena, bulk=size.bulk, light=size.light),
        "beside bulk, not fair": _light(arena, bulk=size.fifo_bulk, light=size.fifo_light, fair_scheduling="no"),
    }
    return report(waits, _shared(arena, size.windows), _starving(arena, size.singles), size)


@contextmanager
def _toiling(arena: Arena, database: Database, **options: str) -> Iterator[tuple[Dispatcher, Record]]:
    record = Record(arena.directory / "record")
    record.path.unlink(missing_ok=True)
    keys = {"PROGRAM": shlex.join([sys.executable, toil.__file__]), "RECORD": str(record.path)}
    with dispatcher(arena.directory, database, {STAGE: keys}, **options) as running:
        yield running, record


def _light(arena: Arena, *, bulk: int, light: int, **options: str) -> list[float]:
    """Return how long each light message waited from its commit to its start, in milliseconds."""
    tell(f"fairness: {light} messages, one a second, beside {bulk} of somebody else {options or ''}")
    with (
        arena.database(lambda database: spread(database, bulk + WARM, STAGE, 1, COST)) as database,
        _toiling(arena, database, **options) as (running, record),
    ):
        running.wait_until(lambda: len(record.read()) >= WARM, look=0.1)
        sent = {}
        begun = time.monotonic()
        for due in _moments(light, random.Random(SEED)):
            time.sleep(max(0.0, begun + due - time.monotonic()))
            sent.update(_insert(database.connection, [("light@light.example.org", COST)]))
        running.wait_until(lambda: sent.keys() <= record.read().keys(), look=0.1)
        return [(record.moments[number].begun - committed) / 1e6 for number, committed in sent.items()]


def _moments(count: int, chance: random.Random) -> Iterator[float]:
    """Yield when each message is due, in seconds: one a second, but in step with no timer."""
    for number in range(count):
        yield number + chance.random()


def _insert(connection: Connection, mail: Sequence[tuple[str, int]]) -> dict[int, int]:
    """Put messages in, each of a sender and with a cost, and return when they were committed, by id and in order."""
    rows = sync.run(
        connection,
        Statement(
            "WITH woken AS (SELECT pg_notify('workqueue', '')), each AS ("
            "INSERT INTO pepsi.workqueue_body (header_block, body) SELECT '', '' "
            "FROM generate_series(1, %(count)s), woken RETURNING body_id), "
            "numbered AS (SELECT body_id, row_number() OVER (ORDER BY body_id) AS number FROM each) "
            "INSERT INTO pepsi.workqueue (body_id, size, stage, mail_from, recipients, subject) "
            "SELECT body_id, 0, %(stage)s, m.mail_from, '{everybody@example.net}', m.cost "
            "FROM numbered JOIN unnest(%(senders)s::text[], %(costs)s::text[]) "
            "WITH ORDINALITY m (mail_from, cost, number) USING (number) ORDER BY number RETURNING workqueue_id",
            {
                "count": len(mail),
                "stage": STAGE,
                "senders": [mail_from for mail_from, _ in mail],
                "costs": [str(cost) for _, cost in mail],
            },
        ),
    )
    committed = time.monotonic_ns()
    return {row[0]: committed for row in sorted(rows)}


def _cost(sender: int) -> int:
    return CHEAP if sender else DEAR


def _shared(arena: Arena, windows: int) -> list[float]:
    """Return the fairness of each window of ten seconds, in which ten senders wait of which one is dear."""
    seconds = 10 * windows
    tell(f"fairness: {SENDERS} senders for {seconds} s, of which one costs {DEAR // CHEAP} times as much a message")
    # Each has three times as much work waiting as it can have done, and its mail came in among that of the others.
    arrivals = sorted(
        ((number + 0.5) / count, sender)
        for sender in range(SENDERS)
        for count in [3 * WORKERS * (seconds + 5) * 1000 // _cost(sender) // SENDERS]
        for number in range(count)
    )
    owner: dict[int, int] = {}

    def fill(database: Database) -> None:
        mail = [(f"s@s{sender}.example.org", _cost(sender)) for _, sender in arrivals]
        owner.update(zip(_insert(database.connection, mail), (sender for _, sender in arrivals), strict=True))

    with arena.database(fill) as database, _toiling(arena, database) as (running, record):
        running.wait_until(lambda: bool(record.read()), look=0.01)
        deadline = time.monotonic() + seconds + 1
        running.wait_until(lambda: time.monotonic() > deadline, look=0.1)
        work = [Work(owner[number], m.begun / 1e9, m.done / 1e9) for number, m in record.read().items()]
    left = Counter(owner.values())
    left.subtract(each.sender for each in work)
    if min(left.values()) <= 0:
        raise BenchmarkError(f"not all senders had mail waiting all the time; left is {dict(left)}")
    return [jain(share) for share in shares(work, SENDERS, windows)]


def _starving(arena: Arena, singles: int) -> float:
    """Return the longest wait of a message, as a part of what those before it may take at the reserved rate."""
    tell(f"fairness: {singles} senders of one message each, {SINGLES_A_SECOND} a second")
    with (
        arena.database(lambda database: spread(database, WARM, STAGE, 1, 50)) as database,
        _toiling(arena, database) as (running, record),
    ):
        running.wait_until(lambda: len(record.read()) == WARM, look=0.01)
        sent: dict[int, int] = {}
        begun = time.monotonic()
        while len(sent) < singles:
            time.sleep(max(0.0, begun + len(sent) / SINGLES_A_SECOND - time.monotonic()))
            numbers = range(len(sent), len(sent) + BURST)
            sent.update(_insert(database.connection, [(f"s@s{n}.example.org", SINGLE_COST) for n in numbers]))
        running.wait_until(lambda: sent.keys() <= record.read().keys(), look=0.1)
        arrived = [
            Arrived(committed / 1e9, record.moments[number].begun / 1e9, record.moments[number].done / 1e9)
            for number, committed in sent.items()
        ]
    return worst_wait(arrived, FIFO_PERCENT / 100)


def report(waits: Mapping[str, Sequence[float]], fairness: Sequence[float], starved: float, size: Size) -> Report:
    """Sum up: waits in milliseconds, the fairness of each window, and the worst wait as a part of its bound."""
    p99 = [percentile(each, 99) for each in waits.values()]
    alone, fair, fifo = p99
    keys: dict[str, Key] = {
        "light_p99_over_alone": round(fair / alone, 3),
        "fifo_light_p99_over_alone": round(fifo / alone, 3),
        "jain": round(min(fairness), 4),
        "worst_wait_over_bound": round(starved, 3),
        "alone_p99_ms": round(alone, 3),
        "light_p99_ms": round(fair, 3),
        "fifo_light_p99_ms": round(fifo, 3),
        "light_messages": size.light,
        "bulk_messages": size.bulk,
        "singles": size.singles,
    }
    return Report(
        name="fairness",
        heading=("ms from the commit to the stage's start", "messages", "p50", "p99", "max"),
        rows=tuple(
            (f"one a second, {what}", str(len(each)), *(f"{v:.1f}" for v in (percentile(each, 50), p, max(each))))
            for (what, each), p in zip(waits.items(), p99, strict=True)
        ),
        keys=keys,
        goals=GOALS,
        notes=(
            f"The stage takes {COST} ms. {size.bulk} messages of one other sender wait at the beginning.",
            f"Without the fair order {size.fifo_bulk} do, and each light message waits until they are done.",
            f"jain: {SENDERS} senders, of which one takes {DEAR} ms a message and the others {CHEAP} ms;",
            f"how evenly the workers' time is shared in the worst of {size.windows} windows of ten seconds.",
            f"worst_wait_over_bound: {size.singles} senders of one message each, {SINGLES_A_SECOND} a second;",
            f"the longest wait over that of the rows before it, were they done at {FIFO_PERCENT} % of the rate seen.",
        ),
    )
