"""What a claim in the fair order costs with few senders and with very many: it should not matter much how many."""

from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import partial

from benchmarks.arena import Arena, connect
from benchmarks.claiming import Subject, fair, take_turns
from benchmarks.filling import pile_up
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.report import Key

SENDERS = (10, 64, 10**3, 10**5)
CAPACITIES = (4, 64)
QUICK, FULL = 10**5, 10**6
"""How many messages wait."""
FEWEST = 3
"""And at least so many of each sender."""
ROUNDS, CLAIMS = 10, 50
STAGE = "crowded"

Costs = Mapping[tuple[int, int], tuple[float, float]]
"""Milliseconds and rows read, by the number of senders and the capacity."""


def measure(arena: Arena, options: Options) -> Costs:
    """Claim from each crowd in turn, at each capacity."""
    subjects: dict[tuple[int, int], Subject] = {}
    with ExitStack() as stack:
        for senders in SENDERS:
            waiting = max(FULL if options.full else QUICK, FEWEST * senders)
            tell(f"backlog: {waiting} messages of {senders} senders are put in")
            fill = partial(pile_up, count=waiting, stage=STAGE, senders=senders)
            database = stack.enter_context(arena.database(fill))
            for capacity in CAPACITIES:
                connection = stack.enter_context(closing(connect(database.dsn, synchronous_commit=False)))
                subjects[senders, capacity] = Subject(connection, fair(capacity, STAGE))
        take_turns(list(subjects.values()), ROUNDS, CLAIMS)
    return {what: subject.medians for what, subject in subjects.items()}


def keys(costs: Costs) -> dict[str, Key]:
    """Return the keys of the report: the ratio is that of the slowest to the quickest crowd, at the worse capacity."""
    found: dict[str, Key] = {}
    ratios = {}
    for capacity in sorted({capacity for _, capacity in costs}):
        times = [milliseconds for (_, each), (milliseconds, _) in costs.items() if each == capacity]
        ratios[capacity] = max(times) / min(times)
        found[f"senders_time_ratio_at_{capacity}"] = round(ratios[capacity], 3)
    found["senders_time_ratio"] = round(max(ratios.values()), 3)
    for (senders, capacity), (milliseconds, read) in costs.items():
        found |= {f"ms_{senders}_senders_at_{capacity}": round(milliseconds, 4)}
        found |= {f"rows_read_{senders}_senders_at_{capacity}": read}
    return found
