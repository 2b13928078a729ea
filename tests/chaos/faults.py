"""The kinds of faults, what each may excuse, and the order in which chance deals them."""

import enum
import fnmatch
import random
from collections.abc import Iterator
from dataclasses import dataclass


class Kind(enum.Enum):
    """What is done to the system."""

    WORKER_KILL = "worker killed"
    WORKER_STOP = "worker suspended"
    DISPATCHER_KILL = "dispatcher killed"
    DISPATCHER_STOP = "dispatcher suspended"
    SERVER_KILL = "PostgreSQL killed"
    BACKEND_KILL = "backend killed"
    SESSION_END = "session terminated"
    CUT = "connections cut"
    BLACKHOLE = "connections silent"
    DELAY = "connections slow"
    REFUSE = "connections refused"
    NOTIFY_STORM = "notify storm"
    RELOAD = "configuration changed"
    BAD_CONFIG = "configuration broken"
    SECOND = "second dispatcher"
    CLOCK_STEP = "clock stepped"
    HELD_ROWS = "rows and snapshot held"
    # Never dealt, but come of the others and of the messages.
    WAITING_KILL = "waiting dispatcher killed"
    CRASH = "crash by design"


ALL = "*"

_OF_ALL = frozenset({Kind.SERVER_KILL, Kind.BACKEND_KILL, Kind.DISPATCHER_KILL, Kind.BAD_CONFIG})
"""They can end whatever is at work: a dispatcher that cannot read its configuration ends, and its workers with it."""
_OF_ONE_WORKER = frozenset({Kind.WORKER_KILL, Kind.WORKER_STOP, Kind.CRASH})
_CONNECTIONS = frozenset({Kind.SESSION_END, Kind.CUT, Kind.BLACKHOLE, Kind.DELAY, Kind.REFUSE})

DOUBT = 60.0
"""Seconds after which a dispatcher that does not know whether it has its lock kills its workers."""
TAIL = 5.0
"""Seconds by which what a fault does to others may come later: buffers, time-outs, sessions that are made anew."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that was there from *begin* to *end*, by the monotonic clock.

    *pid* is of the process that it hit. *sessions* is a pattern of the application names that it hit.
    """

    kind: Kind
    begin: float
    end: float
    pid: int | None = None
    sessions: str = ""

    def excuses(self, stage: str, pid: int, begin: float, end: float) -> bool:
        """Whether it can have come between a message and its outcome that worker *pid* of *stage* had meanwhile.

        *begin* and *end* are the time from the message's begin until its outcome was on the disk or given up.
        """
        if self.begin > end or self.end + TAIL < begin:
            return False
        if self.kind in _OF_ALL:
            return True
        if self.kind in _OF_ONE_WORKER:
            return self.pid == pid
        if self.kind in _CONNECTIONS:
            if fnmatch.fnmatchcase(f"pepsi-stage-{stage}", self.sessions):
                return True
            # Of the dispatcher's own sessions: only when it has given up.
            return fnmatch.fnmatchcase("pepsi-dispatch: lock and claims", self.sessions) and (
                self.end - self.begin >= DOUBT
            )
        return False


_WEIGHTS = {
    Kind.WORKER_KILL: 5,
    Kind.WORKER_STOP: 3,
    Kind.DISPATCHER_KILL: 1,
    Kind.DISPATCHER_STOP: 1,
    Kind.SERVER_KILL: 1,
    Kind.BACKEND_KILL: 1,
    Kind.SESSION_END: 2,
    Kind.CUT: 2,
    Kind.BLACKHOLE: 2,
    Kind.DELAY: 1,
    Kind.REFUSE: 1,
    Kind.NOTIFY_STORM: 1,
    Kind.RELOAD: 2,
    Kind.BAD_CONFIG: 1,
    Kind.SECOND: 1,
    Kind.CLOCK_STEP: 2,
    Kind.HELD_ROWS: 1,
}


def deal(chance: random.Random, without: frozenset[Kind] = frozenset()) -> Iterator[Kind]:
    """Yield kinds for ever, shuffled by the deck: so a short run has them all."""
    while True:
        deck = [kind for kind, weight in _WEIGHTS.items() for _ in range(weight) if kind not in without]
        chance.shuffle(deck)
        yield from deck


DECK = sum(_WEIGHTS.values())
"""How many faults have every kind among them."""
