"""Writes that the dispatcher owes the database: kept until they are written, however long that takes (I6)."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from pepsi.sched.commands import Settlement
from pepsi.sched.cooldown import Cooldown
from pepsi.sched.held import Held

BATCH = 500

Debts = dict[tuple[int, int], tuple[Held, Settlement]]


@dataclass(slots=True)
class Owed:
    """Settlements by claim. One batch is under way at a time; what comes meanwhile goes with the next."""

    due: Debts = field(default_factory=dict)
    locked: Debts = field(default_factory=dict)
    """What could not be written because somebody else holds the row: it waits by itself, and holds up nothing else."""
    flying: Debts = field(default_factory=dict)
    singly: int = 0
    """So many are to be written one at a time, because the database refused them together."""
    retry: Cooldown = field(default_factory=lambda: Cooldown(first=0.5, longest=30.0))
    patience: Cooldown = field(default_factory=lambda: Cooldown(first=0.5, longest=30.0))
    """With whoever holds the locked rows."""

    def __len__(self) -> int:
        return len(self.due) + len(self.locked) + len(self.flying)

    def add(self, held: Held, settlement: Settlement) -> None:
        """Owe *settlement* for *held*."""
        self.due[held.key] = (held, settlement)

    def next_time(self) -> float:
        """Return when a batch should be written, infinity while one is under way or nothing is owed."""
        if self.flying or not (self.due or self.locked):
            return float("inf")
        times = [self.retry.until] if self.due else []
        if self.locked:
            times.append(max(self.patience.until, self.retry.until))
        return min(times, default=float("inf"))

    def begin(self, now: float) -> tuple[Settlement, ...]:
        """Take the next batch."""
        if not self.patience.active(now):
            self.due |= self.locked
            self.locked = {}
        size = 1 if self.singly else BATCH
        for key in list(self.due)[:size]:
            self.flying[key] = self.due.pop(key)
        return tuple(settlement for _, settlement in self.flying.values())

    def written(self, now: float, locked: Container[int] = ()) -> Iterable[Held]:
        """The batch under way is in the database, but for the rows *locked* by others. Return what it settled."""
        done = [held for held, _ in self.flying.values() if held.workqueue_id not in locked]
        left = {key: debt for key, debt in self.flying.items() if key[0] in locked}
        self.singly = max(0, self.singly - len(self.flying))
        self.flying = {}
        self.retry.clear()
        if left:
            self.locked |= left
            self.patience.trouble(now)
        elif not self.locked:
            self.patience.clear()
        return done

    def hurry(self) -> None:
        """Forget how long the pauses have grown: there is reason to try at once, or little time left."""
        self.retry.clear()
        self.patience.clear()

    def failed(self, now: float) -> None:
        """The batch under way could not be written: owe it again, and wait a little."""
        self.due = self.flying | self.due
        self.flying = {}
        self.retry.trouble(now)

    def refused(self) -> tuple[Held, Settlement] | None:
        """The database refused the batch under way. Return the culprit if it stands alone, else split the batch."""
        if len(self.flying) == 1:
            (culprit,) = self.flying.values()
            self.flying = {}
            self.singly = max(0, self.singly - 1)
            return culprit
        self.singly = len(self.flying)
        self.due = self.flying | self.due
        self.flying = {}
        return None
