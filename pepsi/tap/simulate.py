"""``pepsi-simulate``: tries stage settings on mail that never was, with the real engine under a virtual clock."""

import argparse
import dataclasses
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import IO, TypeVar

from pepsi.config.values import parse_duration, parse_number, render_duration
from pepsi.errors import EX_OK, SimulationError
from pepsi.sched.settings import Settings
from pepsi.simulate import trace
from pepsi.simulate.arrival import Arrival
from pepsi.simulate.classes import ByShare
from pepsi.simulate.model import Costs, Model
from pepsi.simulate.records import Records
from pepsi.simulate.report import Report
from pepsi.simulate.scenarios import SCENARIOS
from pepsi.simulate.simulation import Simulation
from pepsi.tap.settings import engine_settings
from pepsi.tap.simulated import FAULTS, configuration, model, share
from pepsi.tools import common

PROG = "pepsi-simulate"
TELL_EVERY = 0.5
"""Seconds between two words about the progress."""
MOST_MESSAGES = 10**9
SHORTEST_WINDOW = 0.1
"""Seconds. Each window is closed for each stage, however little happens in it."""

DESCRIPTION = """\
Plays mail through the dispatcher's own logic under a virtual clock, and says how long it waits, how evenly worker time
is shared and what that costs. Stages are those of the configuration; without one, a single stage called work."""
EXAMPLES = """\
  pepsi-simulate --scenario bulk                              one mailing, and single messages behind it
  pepsi-simulate --scenario bulk --fair no                    the same, oldest mail first
  pepsi-simulate -c pepsi.conf --service relay=lognormal:400ms --set relay.PARALLELISM=16 --scenario storm
  pepsi-simulate -c pepsi.conf --trace day.csv --service relay=exp:250ms --json

scenarios:
{scenarios}

exit status: 0 simulated; 1 an error; 2 usage"""

T = TypeVar("T")


def main(argv: Sequence[str] | None = None) -> int:
    """What the console script calls."""
    arguments = _parser().parse_args(argv)
    return common.run(PROG, lambda: _simulate(arguments))


def _parser() -> argparse.ArgumentParser:
    stories = "\n".join(f"  {name:<10} {scenario.story}" for name, scenario in SCENARIOS.items())
    made = common.parser(PROG, DESCRIPTION, EXAMPLES.format(scenarios=stories))
    source = made.add_mutually_exclusive_group()
    source.add_argument("--scenario", choices=SCENARIOS, default="bulk", help="what to play (default: %(default)s)")
    source.add_argument("--trace", metavar="FILE", help="play what this file says; - is standard input")
    add = made.add_argument
    add("--messages", type=_count, metavar="N", help="size of a scenario's burst; of a trace, the most that is played")
    add("--senders", type=_count, metavar="N", help="how many senders a scenario has")
    add("--rate", type=_rate, metavar="N", help="messages a second of a scenario's light senders together")
    add("--duration", type=_duration, metavar="TIME", help="how long mail comes in")
    add("--seed", type=int, default=1, metavar="N", help="the same number makes the same run (default: %(default)s)")
    add("--entry", metavar="STAGE", help="where mail comes in (default: ENTRY_STAGE of [pepsi-ingress])")
    add("--set", action="append", default=[], metavar="STAGE.KEY=VALUE", help="try another value of a stage's key")
    add("--fair", choices=("yes", "no"), help="instead of FAIR_SCHEDULING of [pepsi-dispatch]")
    add("--service", action="append", default=[], metavar="STAGE=TIME",
        help="how long the stage works on a message: 20ms, exp:20ms, lognormal:20ms or lognormal:20ms:SPREAD "
        "(default: exp:20ms)")  # fmt: skip
    add("--batch", action="append", default=[], metavar="STAGE=TIME",
        help="its workers take all they hold at once, and need so much more for each pass")  # fmt: skip
    add("--way", action="append", default=[], metavar="STAGE=NEXT:N,NEXT:N",
        help="how much mail goes which way; end is no further stage (default: all ways alike)")  # fmt: skip
    for fault, meaning in FAULTS.items():
        add(f"--{fault}", action="append", default=[], metavar="STAGE=SHARE", help=meaning)
    add("--start-time", type=_duration, default=Costs().start, metavar="TIME", help="until a worker is ready (250ms)")
    add("--claim-time", type=_duration, default=Costs().claim, metavar="TIME",
        help="of a statement of the dispatcher (1.5ms)")  # fmt: skip
    add("--turn-time", type=_duration, default=Costs().turn, metavar="TIME", help="of a turn of the dispatcher (0.2ms)")
    add("--connections", type=_count, metavar="N", help="for how many workers the database has room (default: any)")
    add("--bulk-share", type=_option(share), default=0.1, metavar="SHARE",
        help="a sender with more than this share of a trace is of the class bulk (default: %(default)s)")  # fmt: skip
    add("--window", type=_window, default=10.0, metavar="TIME", help="over which fairness is judged (10s)")
    add("--json", action="store_true", help="print JSON")
    return made


def _simulate(arguments: argparse.Namespace) -> int:
    config = configuration(arguments)
    say = common.reporter(PROG, arguments.log)
    for warning in config.warnings:
        say(warning)
    played = model(arguments, config)
    settings = engine_settings(config.dispatch, trace=False)
    if arguments.fair:
        settings = dataclasses.replace(settings, fair=arguments.fair == "yes")
    with ExitStack() as stack:
        chance = random.Random(arguments.seed).random
        arrivals, what = _arrivals(arguments, played, chance, stack)
        report = _play(played, settings, arrivals, arguments, chance, what)
    if arguments.json:
        common.print_json(report.as_json())
    else:
        print("\n".join(report.lines()))
    return EX_OK


def _play(
    model: Model,
    settings: Settings,
    arrivals: Iterator[Arrival],
    arguments: argparse.Namespace,
    chance: Callable[[], float],
    what: str,
) -> Report:
    records = Records(model.stages, arguments.window)
    simulation = Simulation(model, settings, arrivals, ByShare(arguments.bulk_share).group, records, chance)
    progress = _Progress(sys.stderr)
    begun = time.monotonic()
    for now in simulation.play():
        progress.show(now, records, len(simulation.letters))
    progress.clear()
    return Report(what=what, records=records, simulated=simulation.now, wall=time.monotonic() - begun)


class _Progress:
    """One line that is written over, on a terminal only."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._wanted = stream.isatty()
        self._next = time.monotonic() + TELL_EVERY

    def show(self, now: float, records: Records, under_way: int) -> None:
        if self._wanted and time.monotonic() >= self._next:
            self._next = time.monotonic() + TELL_EVERY
            done = sum(records.outcomes.values())
            self._stream.write(f"\r\033[K{now:.0f} s simulated, {done} messages gone, {under_way} under way")
            self._stream.flush()

    def clear(self) -> None:
        if self._wanted:
            self._stream.write("\r\033[K")
            self._stream.flush()


def _arrivals(
    arguments: argparse.Namespace, model: Model, chance: Callable[[], float], stack: ExitStack
) -> tuple[Iterator[Arrival], str]:
    if arguments.trace is None:
        scenario = SCENARIOS[arguments.scenario]
        size = scenario.sized(
            messages=arguments.messages, senders=arguments.senders, rate=arguments.rate, duration=arguments.duration
        )
        mean = model.stages[model.entry].service.mean
        return scenario.play(size, mean, chance), f"{arguments.scenario}: {scenario.story}"
    for option in ("senders", "rate"):
        if getattr(arguments, option) is not None:
            raise SimulationError(f"--{option} is of scenarios; a trace says by itself who sends, and when")
    if arguments.trace == "-":
        file: IO[bytes] = sys.stdin.buffer
    else:
        try:
            file = stack.enter_context(Path(arguments.trace).open("rb"))  # noqa: SIM115
        except OSError as error:
            raise SimulationError(f"{arguments.trace}: cannot be read: {error.strerror}") from error
    # Bounded, so that a file without line ends is no reason to run out of memory.
    lines = iter(lambda: file.readline(trace.LINE_LIMIT + 1), b"")
    arrivals = trace.read(lines, arguments.trace, model.stages)
    if arguments.duration is not None:
        arrivals = takewhile(lambda arrival: arrival.time < arguments.duration, arrivals)
    if arguments.messages is not None:
        arrivals = (arrival for _, arrival in zip(range(arguments.messages), arrivals, strict=False))
    return arrivals, f"trace {arguments.trace}"


def _option(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return *parse* as argparse wants it: what is wrong is said as it is."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text}: {error}") from None

    return parsed


def _parse_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_MESSAGES:
        raise ValueError(f"expected a whole number from 1 to {MOST_MESSAGES}")
    return int(text)


def _parse_rate(text: str) -> float:
    value = parse_number(text)
    if not 0 < value <= 1e6:
        raise ValueError("expected messages a second, above 0")
    return value


def _parse_window(text: str) -> float:
    value = parse_duration(text)
    if value < SHORTEST_WINDOW:
        raise ValueError(f"expected {render_duration(SHORTEST_WINDOW)} or more")
    return value


_duration = _option(parse_duration)
_window = _option(_parse_window)
_count = _option(_parse_count)
_rate = _option(_parse_rate)
