"""Outcomes that are owed to the database until it takes them.

What a stage did in the world outside cannot be taken back: a letter whose outcome is thrown away because the server was
restarted just then is sent once more. So such an outcome is kept, and written again, for as long as the dispatcher
bears with it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pepsi.db.faults import Fault
from pepsi.db.statement import Statement
from pepsi.sched.backoff import delay, jittered
from pepsi.worker.link import FIRST_DELAY, LONGEST_DELAY, Link, TroubleError
from pepsi.worker.note import note

SHARE = 0.95
"""The part of MAX_RUNTIME that a message and its outcome have together: a stage may use up nine tenths by itself."""

GRACE = 20.0
"""Seconds that a dispatcher waits, after it has asked a worker to end, before it kills it."""


class Patience:
    """The time in which an outcome may be written: *seconds* from the begin of its message; with 0 it is tried once.

    *asked* tells whether the worker was asked to end: from when that is seen, ``GRACE`` is left at most. *clock* counts
    seconds, *wait* waits so many, *chance* returns 0 up to 1.
    """

    def __init__(
        self,
        seconds: float,
        asked: Callable[[], bool],
        *,
        clock: Callable[[], float],
        wait: Callable[[float], None],
        chance: Callable[[], float],
    ) -> None:
        self._seconds = seconds
        self._asked = asked
        self._clock = clock
        self._wait = wait
        self._chance = chance
        self._until = 0.0
        self._ending = False

    def begin(self) -> None:
        """Count from now: a message is begun."""
        self._until = self._clock() + self._seconds

    def pause(self, failures: int, at_least: float) -> bool:
        """Wait for another try after *failures*. Returns False, at once, when the time is used up."""
        if not self._ending and self._asked():
            self._ending = True
            self._until = min(self._until, self._clock() + GRACE)
        left = self._until - self._clock()
        if left <= 0:
            return False
        self._wait(min(left, max(at_least, jittered(delay(failures, FIRST_DELAY, LONGEST_DELAY), self._chance))))
        return True


@dataclass(frozen=True, slots=True)
class Written:
    """The ids of the rows that were *hit*. *unsure*: an earlier try, of which nobody heard again, may have hit some."""

    hit: frozenset[int]
    unsure: bool


def written(link: Link, statement: Statement, patience: Patience) -> Written:
    """Run *statement*, which is guarded by claims, until the database takes it or *patience* ends.

    Raises TroubleError: the last one, or at once that which a value in the statement causes.
    """
    failures, unsure = 0, False
    while True:
        try:
            return Written(frozenset(row[0] for row in link.run(statement)), unsure)
        except TroubleError as error:
            failures += 1
            unsure = unsure or error.fault is Fault.LOST
            if error.fault is Fault.DATA or not patience.pause(failures, link.due or 0.0):
                if failures > 1:
                    note("warning: an outcome is given up: what the stage did may be done again")
                raise
            if failures == 1:
                note(f"warning: an outcome could not be written and is kept to be written again: {error}")
