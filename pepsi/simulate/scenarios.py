"""Arrivals that need no trace: what goes wrong in a mail queue, in its plainest form."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge

from pepsi.simulate.arrival import Arrival
from pepsi.simulate.classes import BULK, LIGHT
from pepsi.simulate.distribution import Chance

DEAR = 10.0
"""How many times as long the messages of the expensive sender take."""
STORM = 10.0
"""How many times as much mail comes in during a storm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """*messages*: of the burst, or of all; *senders*: of the others, or of all; *rate*: messages a second of all light
    senders together; *duration*: for how many seconds these send.
    """

    messages: int
    senders: int
    rate: float
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A story, the size it has if nothing else is said, and what plays it: size, mean service time and chance go in."""

    story: str
    size: Size
    play: Callable[[Size, float, Chance], Iterator[Arrival]]

    def sized(
        self,
        *,
        messages: int | None = None,
        senders: int | None = None,
        rate: float | None = None,
        duration: float | None = None,
    ) -> Size:
        """Return the usual size, with what is given instead."""
        usual = self.size
        return Size(
            messages=usual.messages if messages is None else messages,
            senders=usual.senders if senders is None else senders,
            rate=usual.rate if rate is None else rate,
            duration=usual.duration if duration is None else duration,
        )


def _at_random(rate: float, start: float, end: float, chance: Chance) -> Iterator[float]:
    """Yield times at which something happens *rate* times a second on average, independent of each other."""
    time = start
    while rate > 0:
        time -= math.log(1.0 - chance()) / rate
        if time >= end:
            return
        yield time


def _light(size: Size, chance: Chance, rate: float | None = None) -> Iterator[Arrival]:
    for time in _at_random(size.rate if rate is None else rate, 0.0, size.duration, chance):
        yield Arrival(time, _name(LIGHT, int(chance() * size.senders)), LIGHT)


def _steady(size: Size, mean: float, chance: Chance) -> Iterator[Arrival]:
    return _light(size, chance)


def _bulk(size: Size, mean: float, chance: Chance) -> Iterator[Arrival]:
    yield from (Arrival(0.0, _name(BULK, 0), BULK) for _ in range(size.messages))
    yield from _light(size, chance)


def _newcomers(size: Size, mean: float, chance: Chance) -> Iterator[Arrival]:
    yield from (Arrival(0.0, _name(BULK, 0), BULK) for _ in range(size.messages))
    for number, time in enumerate(_at_random(size.rate, 0.0, math.inf, chance)):
        if number == size.senders:
            return
        yield Arrival(time, _name("new", number), "new")


def _expensive(size: Size, mean: float, chance: Chance) -> Iterator[Arrival]:
    for number in range(size.messages):
        sender = number % size.senders
        dear = sender == 0
        yield Arrival(
            0.0, _name("sender", sender), "expensive" if dear else "ordinary", service=mean * DEAR if dear else None
        )


def _storm(size: Size, mean: float, chance: Chance) -> Iterator[Arrival]:
    third = size.duration / 3
    extra = _at_random(size.rate * (STORM - 1), third, 2 * third, chance)
    storm = (Arrival(time, _name("storm", int(chance() * size.senders)), "storm") for time in extra)
    return merge(_light(size, chance), storm, key=lambda arrival: arrival.time)


def _name(kind: str, number: int) -> str:
    return f"{kind}{number}@example.org"


SCENARIOS: Mapping[str, Scenario] = {
    "steady": Scenario(
        story="many senders, each with a little mail now and then",
        size=Size(messages=0, senders=1000, rate=100.0, duration=600.0),
        play=_steady,
    ),
    "bulk": Scenario(
        story="one sender leaves a large mailing, and others go on sending single messages",
        size=Size(messages=100_000, senders=1, rate=1.0, duration=500.0),
        play=_bulk,
    ),
    "newcomers": Scenario(
        story="a backlog of one sender, and then senders who each send one message and never another",
        size=Size(messages=10_000, senders=50_000, rate=250.0, duration=0.0),
        play=_newcomers,
    ),
    "expensive": Scenario(
        story="senders with a backlog each, of whom one has messages that take ten times as long",
        size=Size(messages=20_000, senders=10, rate=0.0, duration=0.0),
        play=_expensive,
    ),
    "storm": Scenario(
        story="steady mail, and for the middle third of the time ten times as much",
        size=Size(messages=0, senders=1000, rate=50.0, duration=900.0),
        play=_storm,
    ),
}
