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
    DISPATCHER_REPLACED = "dispatcher replaced"
    CRASH = "crash by design"


ALL = "*"

DOUBT = 60.0
"""Seconds after which a dispatcher that does not know whether it has its lock kills its workers."""
HANG = 8.0
"""Seconds that a worker must be out of action to be taken to hang: a little less than MAX_RUNTIME, of which its message
may have used up some."""
TAIL = 0.5
"""Seconds by which what a fault does may come later: until signals and ends of connections have come through."""

_OF_ALL = frozenset(
    {Kind.SERVER_KILL, Kind.BACKEND_KILL, Kind.DISPATCHER_KILL, Kind.DISPATCHER_REPLACED, Kind.BAD_CONFIG}
)
"""They can end whatever is at work: a dispatcher that cannot read its configuration ends, and its workers with it."""
_OF_CONNECTIONS = frozenset({Kind.SESSION_END, Kind.CUT})
_LOCK_SESSION = "pepsi-dispatch: lock and claims"


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

        *begin* and *end* are the time from the message's begin until its outcome was on the disk or given up. What only
        delays (a silence that ends, a suspension) is an excuse from when the worker is taken to hang.
        """
        if self.begin > end or self.end + TAIL < begin:
            return False
        if self.kind in _OF_ALL:
            return True
        if self.kind in (Kind.WORKER_KILL, Kind.CRASH):
            return self.pid == pid
        if self.kind is Kind.WORKER_STOP:
            return self.pid == pid and self._lasts(HANG)
        if self.kind in _OF_CONNECTIONS:
            return self._hits(f"pepsi-stage-{stage}")
        if self.kind is Kind.BLACKHOLE:
            return (self._lasts(HANG) and self._hits(f"pepsi-stage-{stage}")) or (
                self._lasts(DOUBT) and self._hits(_LOCK_SESSION)
            )
        return False

    def _hits(self, name: str) -> bool:
        return fnmatch.fnmatchcase(name, self.sessions)

    def _lasts(self, seconds: float) -> bool:
        return self.end - self.begin >= seconds


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
