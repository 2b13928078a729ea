"""The simulator's table, with what happens to a table only where things go wrong."""

from collections.abc import Iterable

from pepsi.model.row import RowStatus
from pepsi.sched.commands import Settlement, Want
from pepsi.sched.held import Held, Place
from pepsi.simulate import table
from pepsi.simulate.table import Row

__all__ = ["Key", "Row", "Table"]

Key = tuple[int, int]
"""Id and claim token."""
LONGEST_HIDDEN = 75.0
"""Seconds: two heartbeats, and a little. A look from the beginning then rests for twice what the last one took."""


class Table(table.Table):
    def __init__(self) -> None:
        super().__init__()
        self.locks: set[int] = set()
        """Rows that somebody else has locked."""
        self.hidden: dict[int, float] = {}
        """Since when claims have passed over rows that wait."""
        self.looked_at = float("inf")
        self.slowest = 0.0
        """Seconds from one claim to the next at most: none took longer to come back."""

    def settle_unlocked(self, writes: Iterable[Settlement], now: float) -> tuple[int, ...]:
        """Write what can be written; return the ids of the rows that run under their claim and are locked."""
        held_up, free = [], []
        for write in writes:
            row = self.rows.get(write.workqueue_id)
            runs = row is not None and row.claim == write.claim
            (held_up if runs and write.workqueue_id in self.locks else free).append(write)
        self.settle(free, now)
        return tuple(write.workqueue_id for write in held_up)

    def pause(self, workqueue_id: int, due: float | None) -> None:
        """Somebody pauses a pending row until *due*, for ever if that is None."""
        self.take(workqueue_id, claim=0)
        self.settle([Settlement(workqueue_id=workqueue_id, claim=0, status=RowStatus.PAUSED, delay=due)], now=0.0)

    def reconcile(self, holdings: Iterable[Held]) -> set[Key]:
        """Claim again what is held and was un-done; give back what runs and is not held. Return what is held."""
        keys = set()
        for held in holdings:
            keys.add(held.key)
            row = self.rows.get(held.workqueue_id)
            undone = row is not None and row.status is RowStatus.PENDING and row.stage == held.stage
            if undone and held.place is not Place.OWED:
                self.take(held.workqueue_id, held.claim)
        for workqueue_id, row in self.rows.items():
            if row.claim is not None and (workqueue_id, row.claim) not in keys:
                self.repair(workqueue_id)
        return keys

    def look(self, wants: Iterable[Want], now: float) -> None:
        """Check that no claim's floor hides a row for longer than two heartbeats and a few claims."""
        self.slowest, self.looked_at = max(self.slowest, now - self.looked_at), now
        bearable = LONGEST_HIDDEN + 2 * self.slowest
        floors = {want.stage: want.floor for want in wants}
        own = {(want.stage, sender.key): sender.floor for want in wants for sender in want.senders}
        for number, row in self.rows.items():
            floor = max(floors.get(row.stage, 0), own.get((row.stage, row.sender), 0))
            if row.status is not RowStatus.PENDING or (row.stage in floors and number >= floor):
                self.hidden.pop(number, None)
            elif row.stage in floors:
                since = self.hidden.setdefault(number, now)
                assert now - since <= bearable, f"{number} has been below a floor for {now - since:g} s"
