"""The ids that the dispatcher holds, and where each of them is.

An id is in one place at a time. A second claim of an id that is still held (its row moved on before the worker's
answer was read, or was repaired by hand) is parked on the first until that one is let go: no message runs twice at
once (I4).
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field


class Place(enum.Enum):
    """Where a held id is."""

    WAITING = "waiting"  # claimed, not yet handed to a worker
    WORKER = "worker"  # in a worker's pipeline
    OWED = "owed"  # to be settled in the database, or being settled
    PARKED = "parked"  # claimed again while held elsewhere


@dataclass(slots=True, eq=False)
class Held:
    """One claim of one row.

    One that is to run *alone* shares a worker's pipe with no other: it may be what makes workers crash. A *stray* was
    found running without anybody at work on it, and takes up no slot.
    """

    workqueue_id: int
    claim: int
    stage: str
    strikes: int
    sender: str = ""
    charged: float | None = None
    """Seconds that the sender was charged for it, until that is settled."""
    charged_at: float = 0.0
    by_age: bool = False
    """Whether it was claimed because it was the oldest."""
    alone: bool = False
    stray: bool = False
    interrupted: int = 0
    """How often a dispatcher died at this stage while the row was running."""
    place: Place = Place.WAITING
    parked: "Held | None" = None

    @property
    def key(self) -> tuple[int, int]:
        """Id and token: what names the claim."""
        return self.workqueue_id, self.claim


@dataclass(slots=True)
class Ledger:
    """All held ids, and how many of each stage."""

    _held: dict[int, Held] = field(default_factory=dict)
    _in_flight: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        """Every claim held, parked ones too."""
        for held in self._held.values():
            yield held
            if held.parked is not None:
                yield held.parked

    def knows(self, workqueue_id: int) -> bool:
        """Whether any claim of this row is held."""
        return workqueue_id in self._held

    def in_flight(self, stage: str) -> int:
        """How many claims of *stage* are held."""
        return self._in_flight.get(stage, 0)

    def parked_on(self, workqueue_id: int) -> Held | None:
        """Return the claim that waits until another one of this row is let go, if any."""
        held = self._held.get(workqueue_id)
        return None if held is None else held.parked

    def take(self, held: Held) -> bool:
        """Hold a new claim. Return whether it may go on at once; if not, it is parked.

        A claim that was parked before is dropped: the database cannot have given the row out again unless that one
        had lost it.
        """
        self._count(held, 1)
        older = self._held.get(held.workqueue_id)
        if older is None:
            self._held[held.workqueue_id] = held
            return True
        if older.parked is not None:
            self._count(older.parked, -1)
        held.place = Place.PARKED
        older.parked = held
        return False

    def release(self, held: Held) -> Held | None:
        """Let *held* go. Return the claim that was parked on it and goes on now, if any."""
        self._count(held, -1)
        parked = held.parked
        if parked is None:
            del self._held[held.workqueue_id]
            return None
        held.parked = None
        parked.place = Place.WAITING
        self._held[held.workqueue_id] = parked
        return parked

    def _count(self, held: Held, by: int) -> None:
        if not held.stray:
            self._in_flight[held.stage] = self.in_flight(held.stage) + by
