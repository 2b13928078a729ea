"""What it costs to send a message through eight stages in one pass, beside one stage, and beside eight passes."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from benchmarks.arena import Arena
from benchmarks.drain import PARTS, Run, through
from benchmarks.figures import interleaved
from benchmarks.filling import STAGE, arrive
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.report import Goal, Key, Report

LENGTH = 8
QUICK, FULL = 4000, 20_000
"""Messages that wait at the beginning of each run."""
QUICK_ROUNDS, FULL_ROUNDS = 3, 9
QUEUE_LIMITS = (4, 64)
SINGLE, CHAIN, UNFUSED = "one stage", "eight, fused", "eight, unfused"
GOAL = Goal(key="chain8_over_single", at_most=1.5)

Runs = Mapping[tuple[str, int], Sequence[Run]]
"""By subject and QUEUE_LIMIT."""


def run(arena: Arena, options: Options) -> Report:
    """Drain the same backlog through each, in turn. ``--queue-limit`` has no say in it."""
    count, rounds = (FULL, FULL_ROUNDS) if options.full else (QUICK, QUICK_ROUNDS)
    order = interleaved([(subject, limit) for limit in QUEUE_LIMITS for subject in (SINGLE, CHAIN)], rounds)
    # Eight times as slow, and there for scale.
    order += interleaved([(UNFUSED, limit) for limit in QUEUE_LIMITS], max(1, rounds // 3))
    runs: dict[tuple[str, int], list[Run]] = {subject: [] for subject in order}
    with arena.database(lambda database: arrive(database, count)) as filled:
        for number, (subject, limit) in enumerate(order, 1):
            with arena.copy(filled) as database:
                done = through(arena, database, sections(subject, limit))
            runs[subject, limit].append(done)
            rate = count / done.seconds
            tell(f"fusion: run {number} of {len(order)}, {subject}, {limit}: {rate:.0f} messages/s")
    return report(runs, count)


def sections(subject: str, queue_limit: int) -> dict[str, dict[str, str]]:
    """Return the stages of a configuration, by their names: those before the last one look at a message and pass it on.

    The mail waits at the first of them.
    """
    shared = {"QUEUE_LIMIT": str(queue_limit), **({"FUSION": "no"} if subject == UNFUSED else {})}
    names = [STAGE, *(f"stage{number}" for number in range(2, 1 + (1 if subject == SINGLE else LENGTH)))]
    found: dict[str, dict[str, str]] = {}
    for name, following in pairwise(names):
        question = {"CONDITION": 'sender_domain == "example.com"', "THEN_STAGE": names[-1], "ELSE_STAGE": following}
        found[name] = {"PROGRAM": "pepsi-stage-if", **question, **shared}
    return {**found, names[-1]: {"PROGRAM": "pepsi-stage-discard", **shared}}


def report(runs: Runs, count: int) -> Report:
    """Compare *runs*, each of *count* messages."""
    return Report(
        name="fusion",
        heading=("microseconds a message", "QUEUE_LIMIT", "median", "least", "greatest", "CPU of all"),
        rows=tuple(_row(subject, limit, those, count) for (subject, limit), those in runs.items()),
        keys={"chain8_over_single": _worst(CHAIN, runs), "unfused8_over_single": _worst(UNFUSED, runs)}
        | _keys(runs, count)
        | {"messages": count, "rounds": len(next(iter(runs.values())))},
        goals=(GOAL,),
        notes=(
            f"Each run moves {count} messages of 1 kB. The last stage finishes them, the others ask for their sender.",
            "Microseconds are those of the clock, from the first claim until the last row is gone, by message.",
            "CPU is processor time of dispatcher, workers and server. The ratios are the worse of both QUEUE_LIMITs.",
        ),
    )


def _keys(runs: Runs, count: int) -> dict[str, Key]:
    keys: dict[str, Key] = {}
    for limit in QUEUE_LIMITS:
        for subject, name in ((SINGLE, "single"), (CHAIN, "chain8"), (UNFUSED, "unfused8")):
            keys[f"{name}_us_{limit}"] = round(_clock(runs[subject, limit], count), 1)
            keys[f"{name}_cpu_us_{limit}"] = round(_processor(runs[subject, limit], count), 1)
        for subject, name in ((CHAIN, "chain8"), (UNFUSED, "unfused8")):
            keys[f"{name}_over_single_{limit}"] = round(_ratio(subject, limit, runs), 3)
            cpu = _processor(runs[subject, limit], count) / _processor(runs[SINGLE, limit], count)
            keys[f"{name}_over_single_cpu_{limit}"] = round(cpu, 3)
    return keys


def _worst(subject: str, runs: Runs) -> float:
    return round(max(_ratio(subject, limit, runs) for limit in QUEUE_LIMITS), 3)


def _ratio(subject: str, limit: int, runs: Runs) -> float:
    return _clock(runs[subject, limit], 1) / _clock(runs[SINGLE, limit], 1)


def _row(subject: str, limit: int, those: Sequence[Run], count: int) -> tuple[str, ...]:
    times = [1e6 * one.seconds / count for one in those]
    values = (median(times), min(times), max(times), _processor(those, count))
    return (subject, str(limit), *(f"{value:.0f}" for value in values))


def _clock(those: Sequence[Run], count: int) -> float:
    return 1e6 * median(one.seconds for one in those) / count


def _processor(those: Sequence[Run], count: int) -> float:
    return 1e6 * median(sum(float(getattr(one, part)) for part in PARTS) for one in those) / count
