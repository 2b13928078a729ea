"""``python -m benchmarks``: run one, several or all of them."""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import backlog, drain, fairness, fusion, latency, queue_start, snapshot
from benchmarks.arena import Arena, arena
from benchmarks.machine import Load, facts, load
from benchmarks.options import Options
from benchmarks.progress import tell
from benchmarks.report import Report, as_json, table
from pepsi.errors import PepsiError

ALL = "all"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What can be measured, in a sentence, and how."""

    sentence: str
    run: Callable[[Arena, Options], Report]


BENCHMARKS: Mapping[str, Benchmark] = {
    "drain": Benchmark(
        "Messages a second through one stage that only finishes them, beside the same work by plain connections.",
        drain.run,
    ),
    "fusion": Benchmark(
        "What a chain of eight stages costs that are run in one pass, beside one stage, and beside eight passes.",
        fusion.run,
    ),
    "latency": Benchmark(
        "Milliseconds from the commit of a message to the start of its stage, at 20 messages a second.", latency.run
    ),
    "backlog": Benchmark(
        "What a claim costs, in time and in rows read, when 1000 messages wait and when very many do, from few senders "
        "and from many.",
        backlog.run,
    ),
    "fairness": Benchmark(
        "How long mail waits beside very much of another sender, how evenly time is shared, and whether mail starves.",
        fairness.run,
    ),
    "snapshot": Benchmark(
        "Messages a second while somebody holds an old snapshot, at the end beside the beginning, and beside without.",
        snapshot.run,
    ),
    "tool": Benchmark(
        "Milliseconds that pepsi-queue takes from its start to its end on an empty queue, beside psql.", queue_start.run
    ),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; exits for --help and for what makes no sense."""
    sentences = "\n".join(f"  {name:10}{benchmark.sentence}" for name, benchmark in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Pepsi on a PostgreSQL server of its own, with settings that keep what is committed.",
        epilog=f"benchmarks:\n{sentences}\n\nHow they measure, and figures: docs/benchmarks.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", metavar="NAME", nargs="+", choices=[*BENCHMARKS, ALL], help="a benchmark, or all for all of them"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--full", action="store_true", help="take minutes for each, not less than one")
    parser.add_argument(
        "--queue-limit",
        metavar="N",
        type=int,
        default=Options().queue_limit,
        help="QUEUE_LIMIT of the stage, and the size of a claim (default: %(default)s)",
    )
    parser.add_argument("--directory", metavar="DIR", type=Path, help="where the database is kept meanwhile")
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.queue_limit <= 1000:
        parser.error("--queue-limit: expected a number from 1 to 1000")
    if arguments.directory is not None and not arguments.directory.is_dir():
        parser.error(f"--directory: {arguments.directory} is not a directory")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run what *argv* names, and return the exit status: a goal that is missed is no error."""
    arguments = parse(argv)
    try:
        _measure(arguments)
    except PepsiError as error:
        print(f"python -m benchmarks: {error}", file=sys.stderr)
        return error.exit_status
    return 0


def beside(report: Report, load: Load) -> Report:
    """Return *report* with what else the machine was doing."""
    keys = {**report.keys, "others": round(load.others, 2), "load_average": round(load.average, 2)}
    notes = report.notes if load.quiet else (*report.notes, f"Indicative only: {load}.")
    return dataclasses.replace(report, keys=keys, notes=notes)


def _measure(arguments: argparse.Namespace) -> None:
    names = list(BENCHMARKS) if ALL in arguments.names else list(dict.fromkeys(arguments.names))
    options = Options(full=arguments.full, queue_limit=arguments.queue_limit)
    reports = []
    with arena(arguments.directory) as place:
        with place.database(lambda database: None) as database:
            machine = facts(database.connection, place.directory)
        print(table(("machine", ""), [(name, str(value)) for name, value in machine.items()]), flush=True)
        for name in names:
            before = load()
            if not before.quiet:
                tell(f"warning: {before}")
            report = beside(BENCHMARKS[name].run(place, options), before)
            print(f"\n{name}\n{report.text()}", flush=True)
            reports.append(report)
    if arguments.json:
        print(as_json(reports, machine))


if __name__ == "__main__":
    sys.exit(main())
