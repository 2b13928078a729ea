"""The queue's table, as far as the engine has to do with it: rows, claims under a token, and guarded writes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pepsi.model.row import STRIKES, RowStatus
from pepsi.sched.commands import Claim, Settlement, Want
from pepsi.sched.events import ClaimedRow, RunningRow, Window
from pepsi.sched.held import Held, Place
from pepsi.sched.ranking import choose

Key = tuple[int, int]
"""Id and claim token."""


@dataclass
class Row:
    stage: str
    sender: str = ""
    status: RowStatus = RowStatus.PENDING
    claim: int | None = None
    strikes: int = 0
    interrupted: int = 0
    due: float | None = None
    state: dict[str, Any] = field(default_factory=dict)


class Table:
    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self.locks: set[int] = set()
        """Rows that somebody else has locked."""
        self._last = 0

    def insert(self, stage: str, count: int, sender: str = "") -> int:
        for _ in range(count):
            self._last += 1
            self.rows[self._last] = Row(stage, sender)
        return self._last

    def claim(self, command: Claim) -> tuple[tuple[ClaimedRow, ...], tuple[Window, ...]]:
        """Turn pending rows to running: the oldest of each stage, or in the fair order, with the windows looked at."""
        if not command.fair:
            ids = sorted(number for want in command.wants for number in self._oldest(want))
            return self._taken(command.token, ids), ()
        choices = [choose(want, self._waiting(want.stage)) for want in command.wants]
        ids = [number for choice in choices for number in choice.ids]
        return self._taken(command.token, ids), tuple(choice.window for choice in choices)

    def _waiting(self, stage: str) -> list[tuple[int, str]]:
        return [
            (number, row.sender)
            for number, row in self.rows.items()
            if row.status is RowStatus.PENDING and row.stage == stage
        ]

    def _oldest(self, want: Want) -> list[int]:
        return sorted(number for number, _ in self._waiting(want.stage) if number >= want.floor)[: want.capacity]

    def _taken(self, token: int, ids: Iterable[int]) -> tuple[ClaimedRow, ...]:
        taken = []
        for number in ids:
            row = self.rows[number]
            row.status, row.claim = RowStatus.RUNNING, token
            taken.append(
                ClaimedRow(
                    workqueue_id=number,
                    stage=row.stage,
                    sender=row.sender,
                    strikes=row.strikes,
                    interrupted=row.interrupted,
                )
            )
        return tuple(taken)

    def settle(self, writes: Iterable[Settlement], now: float) -> tuple[int, ...]:
        """Write what the dispatcher decided about rows that still run under its claim; return those locked."""
        held_up = []
        for write in writes:
            row = self.rows.get(write.workqueue_id)
            if row is None or row.claim != write.claim:
                continue
            if write.workqueue_id in self.locks:
                held_up.append(write.workqueue_id)
                continue
            row.status, row.claim = write.status, None
            row.due = None if write.delay is None else now + write.delay
            row.strikes = int(write.patch.get(STRIKES, row.strikes))
            row.state |= write.patch
        return tuple(held_up)

    def advance(self, workqueue_id: int, stage: str | None) -> None:
        """A worker moves the row on to *stage*, or is done with it."""
        row = self.rows[workqueue_id]
        if stage is None:
            del self.rows[workqueue_id]
        else:
            row.stage, row.status, row.claim, row.strikes = stage, RowStatus.PENDING, None, 0
            row.interrupted = 0

    def repair(self, workqueue_id: int) -> None:
        """What an operator does who takes a running row for stuck."""
        row = self.rows[workqueue_id]
        if row.status is RowStatus.RUNNING:
            row.status, row.claim = RowStatus.PENDING, None

    def reconcile(self, holdings: Iterable[Held]) -> set[Key]:
        """Claim again what is held and was un-done; give back what runs and is not held. Return what is held."""
        keys = set()
        for held in holdings:
            keys.add(held.key)
            row = self.rows.get(held.workqueue_id)
            undone = row is not None and row.status is RowStatus.PENDING and row.stage == held.stage
            if row is not None and undone and held.place is not Place.OWED:
                row.status, row.claim = RowStatus.RUNNING, held.claim
        for workqueue_id, row in self.rows.items():
            if row.claim is not None and (workqueue_id, row.claim) not in keys:
                row.status, row.claim = RowStatus.PENDING, None
        return keys

    def running(self) -> tuple[RunningRow, ...]:
        return tuple(
            RunningRow(workqueue_id=workqueue_id, claim=row.claim, stage=row.stage, strikes=row.strikes)
            for workqueue_id, row in self.rows.items()
            if row.claim is not None
        )

    def next_due(self, now: float) -> float | None:
        """In how many seconds the next paused row is due."""
        return min((row.due - now for row in self.rows.values() if row.due is not None), default=None)

    def flip_due(self, limit: int, now: float) -> tuple[int, ...]:
        """Turn due rows to pending; return their ids."""
        due = [(row.due, number) for number, row in self.rows.items() if row.due is not None and row.due <= now]
        ids = tuple(number for _, number in sorted(due)[:limit])
        for number in ids:
            self.rows[number].status, self.rows[number].due = RowStatus.PENDING, None
        return ids
