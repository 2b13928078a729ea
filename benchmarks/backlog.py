"""What a claim costs when much mail waits: it should not matter how much, nor from how many senders."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

from benchmarks import crowds
from benchmarks.arena import Arena, Database, connect
from benchmarks.claiming import Subject, fair, oldest, take_turns
from benchmarks.crowds import Costs
from benchmarks.filling import SENDERS, pile_up
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.report import Goal, Key, Report
from pepsi.sched.commands import Claim, Sender

QUICK, FULL = (10**3, 10**5), (10**3, 10**5, 10**6)
"""How many messages wait."""
ROUNDS, CLAIMS = 10, 50
"""How often the queues take turns, and how many claims are measured each time."""
BEHIND = 1000
DEEP, SHALLOW = "deep", "shallow"
ONLY_SENDER = Sender("from:d0.example.org", lead=1.0)
GOALS = (
    Goal(key="time_ratio", at_most=1.5),
    Goal(key="rows_read_ratio", at_most=1.5),
    Goal(key="senders_time_ratio", at_most=2.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a queue is made of, and what is claimed from it: given the capacity, ``asked`` returns that."""

    what: str
    asked: Callable[[int], Claim]
    kept: int
    """For each so many messages that wait at the deep stage, one is older, and kept there as failed."""
    behind: int = 0
    """Messages that wait at a shallow stage, and came later than all of the deep one."""
    senders: int = SENDERS

    def fill(self, database: Database, waiting: int) -> None:
        """Put the messages in, *waiting* of them at the deep stage."""
        pile_up(database, waiting // self.kept, DEEP, self.senders)
        database.rows("UPDATE pepsi.workqueue SET status = 'failed'")
        pile_up(database, waiting, DEEP, self.senders)
        pile_up(database, self.behind, SHALLOW, self.senders)


# The planner knows how much of the table waits at a stage, and has chosen an index that holds all of the table when
# that is nearly all, or half.
SHAPES = (
    Shape(what="one stage", asked=lambda capacity: oldest(capacity, DEEP), kept=100),
    Shape(what="two stages", asked=lambda capacity: oldest(capacity, DEEP, SHALLOW), kept=10, behind=BEHIND),
    Shape(what="one sender", asked=lambda capacity: fair(capacity, DEEP, [ONLY_SENDER]), kept=100, senders=1),
)


def run(arena: Arena, options: Options) -> Report:
    """Claim from each queue in turn."""
    queues: dict[tuple[str, int], Subject] = {}
    with ExitStack() as stack:
        for waiting in FULL if options.full else QUICK:
            for shape in SHAPES:
                tell(f"backlog: {waiting} messages are put in, {shape.what}")
                database = stack.enter_context(arena.database(partial(shape.fill, waiting=waiting)))
                # As the dispatcher's session for claims.
                connection = stack.enter_context(closing(connect(database.dsn, synchronous_commit=False)))
                queues[shape.what, waiting] = Subject(connection, shape.asked(options.queue_limit))
        take_turns(list(queues.values()), ROUNDS, CLAIMS)
    return _report(queues, crowds.measure(arena, options), options)


def _report(queues: Mapping[tuple[str, int], Subject], crowded: Costs, options: Options) -> Report:
    deep = tuple(_row(f"{waiting} ({what})", queue.medians) for (what, waiting), queue in queues.items())
    wide = tuple(_row(f"{senders} senders, {capacity} a claim", cost) for (senders, capacity), cost in crowded.items())
    return Report(
        name="backlog",
        heading=("messages waiting", "ms a claim", "rows read"),
        rows=(*deep, *wide),
        keys={**ratios({what: queue.medians for what, queue in queues.items()}), **crowds.keys(crowded)},
        goals=GOALS,
        notes=(
            f"Where nothing else is said a claim asks for {options.queue_limit} messages of each stage.",
            "One stage: in front of those that wait are a hundredth as many that have failed and are kept.",
            f"Two stages: a tenth as many, and {BEHIND} wait at the second that came later than all at the first.",
            "One sender, and so many senders: the claim is in the fair order; the others take the oldest.",
            f"Medians of {ROUNDS * CLAIMS} claims from each queue, which take turns.",
            "Time is that of the whole round trip; rows read are index entries and rows, dead ones included.",
            "time_ratio is of the deepest queue to the shallowest, the worst of one stage, two stages and one sender.",
            "senders_time_ratio is of the slowest to the quickest number of senders, at the worse capacity.",
        ),
    )


def _row(what: str, cost: tuple[float, float]) -> tuple[str, ...]:
    milliseconds, read = cost
    return what, f"{milliseconds:.3f}", f"{read:g}"


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
