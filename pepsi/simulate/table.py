"""The queue's table in memory, as far as the engine has to do with it: rows, claims under a token, guarded writes."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pepsi.model.row import STRIKES, RowStatus
from pepsi.sched.commands import Claim, Settlement, Want
from pepsi.sched.events import ClaimedRow, RunningRow, Window
from pepsi.sched.ranking import pick
from pepsi.sched.waiting import Waiting


@dataclass(slots=True)
class Row:
    """One message. *due* is in the clock that the table is given; *state* is what was merged into it."""

    stage: str
    sender: str = ""
    status: RowStatus = RowStatus.PENDING
    claim: int | None = None
    strikes: int = 0
    interrupted: int = 0
    due: float | None = None
    state: dict[str, Any] = field(default_factory=dict)


class Table:
    """All rows, by id. Statuses are changed through its methods only: it knows what waits where, and what runs."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self._waiting: dict[str, Waiting] = {}
        self._running: set[int] = set()
        self._due: list[tuple[float, int]] = []
        """Paused rows by when they are due. One that has moved on meanwhile is passed over."""
        self._last = 0

    def waiting(self, stage: str) -> Waiting:
        """Return what waits at *stage*."""
        found = self._waiting.get(stage)
        if found is None:
            found = self._waiting[stage] = Waiting()
        return found

    def insert(self, stage: str, count: int = 1, sender: str = "") -> int:
        """Put *count* messages of *sender* in; return the id of the last."""
        for _ in range(count):
            self._last += 1
            self.rows[self._last] = Row(stage, sender)
            self.waiting(stage).add(self._last, sender)
        return self._last

    def claim(self, command: Claim) -> tuple[tuple[ClaimedRow, ...], tuple[Window, ...]]:
        """Turn pending rows to running: the oldest of each stage, or in the fair order, with the windows looked at."""
        ids: list[int] = []
        windows = []
        for want in command.wants:
            if command.fair:
                choice = pick(want, self.waiting(want.stage))
                ids += choice.ids
                windows.append(choice.window)
            else:
                ids += self._oldest(want)
        return tuple([self._taken(number, command.token) for number in ids]), tuple(windows)

    def settle(self, writes: Iterable[Settlement], now: float) -> None:
        """Write what the dispatcher decided about rows that still run under its claim."""
        for write in writes:
            row = self.rows.get(write.workqueue_id)
            if row is None or row.claim != write.claim:
                continue
            self._let_go(write.workqueue_id, row, write.status)
            if write.delay is not None:
                row.due = now + write.delay
                heapq.heappush(self._due, (row.due, write.workqueue_id))
            row.strikes = int(write.patch.get(STRIKES, row.strikes))
            row.state |= write.patch

    def advance(self, workqueue_id: int, stage: str | None) -> None:
        """A worker moves the running row on to *stage*, or is done with it."""
        row = self.rows[workqueue_id]
        if stage is None:
            self.delete(workqueue_id)
        else:
            row.stage, row.strikes, row.interrupted = stage, 0, 0
            self._let_go(workqueue_id, row, RowStatus.PENDING)

    def delete(self, workqueue_id: int) -> None:
        """The row is gone, whatever it was."""
        row = self.rows.pop(workqueue_id)
        self._running.discard(workqueue_id)
        if row.status is RowStatus.PENDING:
            self.waiting(row.stage).remove(workqueue_id, row.sender)

    def repair(self, workqueue_id: int) -> None:
        """Turn the row to pending if it runs, whoever runs it."""
        row = self.rows[workqueue_id]
        if row.status is RowStatus.RUNNING:
            self._let_go(workqueue_id, row, RowStatus.PENDING)

    def take(self, workqueue_id: int, claim: int) -> None:
        """Turn the row to running under *claim* if it is pending."""
        if self.rows[workqueue_id].status is RowStatus.PENDING:
            self._taken(workqueue_id, claim)

    def running(self) -> tuple[RunningRow, ...]:
        """Return the rows that run."""
        return tuple(
            RunningRow(workqueue_id=number, claim=row.claim, stage=row.stage, strikes=row.strikes)
            for number in sorted(self._running)
            if (row := self.rows[number]).claim is not None
        )

    def next_due(self, now: float) -> float | None:
        """In how many seconds the next paused row is due."""
        self._pass_over()
        return self._due[0][0] - now if self._due else None

    def flip_due(self, limit: int, now: float) -> tuple[int, ...]:
        """Turn due rows to pending, the oldest due first; return their ids."""
        ids: list[int] = []
        while len(ids) < limit:
            self._pass_over()
            if not self._due or self._due[0][0] > now:
                break
            _, number = heapq.heappop(self._due)
            self._let_go(number, self.rows[number], RowStatus.PENDING)
            ids.append(number)
        return tuple(ids)

    def _oldest(self, want: Want) -> list[int]:
        waiting = (number for number in self.waiting(want.stage).oldest() if number >= want.floor)
        return list(islice(waiting, want.capacity))

    def _taken(self, number: int, token: int) -> ClaimedRow:
        row = self.rows[number]
        self.waiting(row.stage).remove(number, row.sender)
        self._running.add(number)
        row.status, row.claim = RowStatus.RUNNING, token
        return ClaimedRow(
            workqueue_id=number,
            stage=row.stage,
            sender=row.sender,
            strikes=row.strikes,
            interrupted=row.interrupted,
        )

    def _let_go(self, number: int, row: Row, status: RowStatus) -> None:
        row.status, row.claim, row.due = status, None, None
        self._running.discard(number)
        if status is RowStatus.PENDING:
            self.waiting(row.stage).add(number, row.sender)

    def _pass_over(self) -> None:
        while self._due and not self._is_due(*self._due[0]):
            heapq.heappop(self._due)

    def _is_due(self, due: float, number: int) -> bool:
        row = self.rows.get(number)
        return row is not None and row.status is RowStatus.PAUSED and row.due == due
