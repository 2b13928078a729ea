"""The dispatcher's books: which ids it holds, what it owes the database for them, what it has counted.

A held id leaves the books in one of two ways: its worker has moved the row on and said so, or what is owed for it has
been written.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pepsi.model.row import RowStatus
from pepsi.sched.commands import Command, Level, Note, Settlement
from pepsi.sched.fairness import Fairness
from pepsi.sched.floors import Floors
from pepsi.sched.held import Held, Ledger, Place
from pepsi.sched.owed import Owed
from pepsi.sched.statistics import Statistics
from pepsi.sched.strikes import strike
from pepsi.sched.timetable import Timetable
from pepsi.sched.verdict import requeue


@dataclass(slots=True)
class Books:
    """What every part of the engine writes into. *out* gathers the commands of one turn."""

    statistics: Statistics
    times: Timetable
    chance: Callable[[], float]
    fairness: Fairness
    ledger: Ledger = field(default_factory=Ledger)
    owed: Owed = field(default_factory=Owed)
    floors: Floors = field(default_factory=Floors)
    freed: list[Held] = field(default_factory=list)
    """Claims that were parked and go on now."""
    out: list[Command] = field(default_factory=list)

    def note(self, level: Level, text: str, **facts: Any) -> None:
        """Leave a line for the log."""
        self.out.append(Note(level, text, facts))

    def owe(self, held: Held, write: Settlement, now: float) -> None:
        """Owe *write* for *held*; it stays held until that is written."""
        held.place = Place.OWED
        self.owed.add(held, write)
        if write.status is RowStatus.PAUSED and write.delay is not None:
            self.times.paused(now, write.delay)

    def give_back(self, held: Held, now: float, *, suspect: bool = False) -> None:
        """Owe that the row becomes pending again, as if it had never been claimed, but for the mark of a *suspect*."""
        self.fairness.refund(held, now)
        self.statistics.at(held.stage).requeues += 1
        self.owe(held, requeue(held, suspect=suspect), now)

    def strike(self, held: Held, why: str, *, hang: bool, now: float) -> None:
        """Owe a strike for *held*."""
        write = strike(held, why, hang=hang, chance=self.chance)
        counts = self.statistics.at(held.stage)
        counts.strikes += 1
        counts.timeouts += hang
        if write.status.is_final:
            counts.failures += 1
            self.statistics.failed += 1
        self.note(
            Level.WARN, "message {workqueue_id} takes a strike at {stage} and is {status}: {why}",
            workqueue_id=held.workqueue_id, stage=held.stage, status=write.status.value, why=why,
        )  # fmt: skip
        self.owe(held, write, now)

    def take(self, held: Held, now: float) -> bool:
        """Hold a new claim. Return whether it may go on at once; if not, it is parked."""
        dropped = self.ledger.parked_on(held.workqueue_id)
        if dropped is not None:
            self.fairness.refund(dropped, now)
        return self.ledger.take(held)

    def release(self, held: Held) -> None:
        """*held* has left our hands; a claim that was parked on it goes on."""
        parked = self.ledger.release(held)
        if parked is not None:
            self.freed.append(parked)
