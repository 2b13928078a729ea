"""What a claim costs when much mail waits: it should not matter how much."""

import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from psycopg2.extensions import connection as Connection

from benchmarks.arena import Arena, Database, connect
from benchmarks.errors import BenchmarkError
from benchmarks.figures import interleaved
from benchmarks.filling import pile_up
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.report import Goal, Key, Report
from pepsi.db import claims, sync
from pepsi.db.statement import Statement
from pepsi.model import claim
from pepsi.sched.commands import Claim, Want

QUICK, FULL = (10**3, 10**5), (10**3, 10**5, 10**6)
"""How many messages wait."""
ROUNDS, CLAIMS = 10, 50
"""How often the queues take turns, and how many claims are measured each time."""
BEHIND = 1000
DEEP, SHALLOW = "deep", "shallow"
GOALS = (Goal(key="time_ratio", at_most=1.5), Goal(key="rows_read_ratio", at_most=1.5))

_READ = Statement(
    "SELECT sum(pg_stat_get_xact_tuples_returned(r.oid)) FROM ("
    "SELECT indexrelid AS oid FROM pg_index WHERE indrelid = 'pepsi.workqueue'::regclass "
    "UNION ALL SELECT 'pepsi.workqueue'::regclass) r"
)
"""What this session has read, of the table as such and of its indexes. The views of all sessions lag behind, and the
buffers that EXPLAIN counts say nothing of the many dead entries that fit into one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a queue is made of."""

    what: str
    kept: int
    """For each so many messages that wait at the deep stage, one is older, and kept there as failed."""
    behind: int
    """Messages that wait at a shallow stage, and came later than all of the deep one."""

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that claims are made for."""
        return (DEEP, SHALLOW) if self.behind else (DEEP,)

    def fill(self, database: Database, waiting: int) -> None:
        """Put the messages in, *waiting* of them at the deep stage."""
        pile_up(database, waiting // self.kept, DEEP)
        database.rows("UPDATE pepsi.workqueue SET status = 'failed'")
        pile_up(database, waiting, DEEP)
        pile_up(database, self.behind, SHALLOW)


# The planner knows how much of the table waits at a stage, and has chosen an index that holds all of the table when
# that is nearly all, or half.
SHAPES = (
    Shape(what="one stage", kept=100, behind=0),
    Shape(what="two stages", kept=10, behind=BEHIND),
)


@dataclass(slots=True)
class Queue:
    """A queue, the session that claims from it, and what its claims cost: milliseconds, and rows read."""

    shape: Shape
    waiting: int
    connection: Connection
    times: list[float] = field(default_factory=list)
    read: list[int] = field(default_factory=list)


def run(arena: Arena, options: Options) -> Report:
    """Claim from each queue in turn; each claim is rolled back, so that the next finds the same."""
    queues: list[Queue] = []
    with ExitStack() as stack:
        for waiting in FULL if options.full else QUICK:
            for shape in SHAPES:
                tell(f"backlog: {waiting} messages are put in, {shape.what}")
                database = stack.enter_context(arena.database(partial(shape.fill, waiting=waiting)))
                # As the dispatcher's session for claims.
                connection = stack.enter_context(closing(connect(database.dsn, synchronous_commit=False)))
                queues.append(Queue(shape, waiting, connection))
        for queue in queues:
            for _ in range(CLAIMS):
                _claim(queue, options.queue_limit)
        for queue in interleaved(queues, ROUNDS):
            for _ in range(CLAIMS):
                milliseconds, read = _claim(queue, options.queue_limit)
                queue.times.append(milliseconds)
                queue.read.append(read)
    return _report(queues, options)


def _claim(queue: Queue, queue_limit: int) -> tuple[float, int]:
    wants = tuple(Want(stage=stage, capacity=queue_limit) for stage in queue.shape.stages)
    statement = claims.claim(Claim(token=claim.pack(1, 1), fair=False, wants=wants))
    sync.run(queue.connection, Statement("BEGIN"))
    before = sync.run(queue.connection, _READ)[0][0]
    begun = time.perf_counter()
    rows = sync.run(queue.connection, statement)
    ended = time.perf_counter()
    after = sync.run(queue.connection, _READ)[0][0]
    sync.run(queue.connection, Statement("ROLLBACK"))
    if len(rows) != queue_limit * len(wants):
        raise BenchmarkError(f"{queue_limit * len(wants)} rows were to be claimed, and {len(rows)} were")
    return (ended - begun) * 1e3, int(after - before)


def _report(queues: list[Queue], options: Options) -> Report:
    return Report(
        name="backlog",
        heading=("messages waiting", "ms a claim", "least", "greatest", "rows read"),
        rows=tuple(
            (
                f"{queue.waiting} ({queue.shape.what})",
                *(f"{value:.3f}" for value in (median(queue.times), min(queue.times), max(queue.times))),
                f"{median(queue.read):g}",
            )
            for queue in queues
        ),
        keys=ratios({(q.shape.what, q.waiting): (median(q.times), median(q.read)) for q in queues}),
        goals=GOALS,
        notes=(
            f"A claim asks for {options.queue_limit} messages of each stage.",
            "One stage: in front of those that wait are a hundredth as many that have failed and are kept.",
            f"Two stages: a tenth as many, and {BEHIND} wait at the second that came later than all at the first.",
            f"Medians of {ROUNDS * CLAIMS} claims from each queue, which take turns.",
            "Time is that of the whole round trip; rows read are index entries and rows, dead ones included.",
            "The ratios are of the deepest queue to the shallowest, the worse of one and two stages.",
        ),
    )


def ratios(medians: Mapping[tuple[str, int], tuple[float, float]]) -> dict[str, Key]:
    """Return the keys of the report. *medians* has time and rows read for each shape and depth."""
    depths = sorted({waiting for _, waiting in medians})
    shapes = dict.fromkeys(what for what, _ in medians)
    keys: dict[str, Key] = {"shallowest": depths[0], "deepest": depths[-1]}
    for place, name in enumerate(("time_ratio", "rows_read_ratio")):
        of_each = {what: medians[what, depths[-1]][place] / medians[what, depths[0]][place] for what in shapes}
        keys[name] = round(max(of_each.values()), 3)
        keys |= {f"{name}_{what.replace(' ', '_')}": round(ratio, 3) for what, ratio in of_each.items()}
    for (what, waiting), (milliseconds, read) in medians.items():
        suffix = f"{what.replace(' ', '_')}_{waiting}"
        keys |= {f"ms_{suffix}": round(milliseconds, 4), f"rows_read_{suffix}": read}
    return keys
