"""When to claim, and for which stages. One claim is under way at a time; what happens meanwhile goes into the next."""

from collections.abc import Mapping

from pepsi.model import claim
from pepsi.sched.commands import Claim, Sender, Want
from pepsi.sched.cooldown import Cooldown
from pepsi.sched.events import Claimed, Window
from pepsi.sched.fairness import Fairness
from pepsi.sched.floors import Floors
from pepsi.sched.held import Ledger
from pepsi.sched.pool import Pool

MOST_LEADS = 1024
"""Leads that a claim carries for a stage, the largest ones."""
LEADS_A_ROW = 8
FEWEST_LEADS = 64
"""A claim for few rows carries fewer leads: to send them all would cost more than the claim itself."""
LEADS_IDLE = 16
"""At a stage that is not behind all that waits is claimed, and the order matters little."""
MOST_BLANKS = 32
"""Windows in a row without a single row, after which a stage is left alone until the next wake."""


class Claimer:
    """The claim under way, or the reasons for the next one. Without *fairness* the oldest rows are claimed."""

    def __init__(
        self, epoch: int, pools: Mapping[str, Pool], ledger: Ledger, floors: Floors, fairness: Fairness | None
    ) -> None:
        self.unknown = False
        """Whether a claim may have been done of which nothing came back."""
        self.by_age: dict[str, int] = {}
        """How many of each stage's rows the last claim took for their age; they come first."""
        self._epoch = epoch
        self._pools = pools
        self._ledger = ledger
        self._floors = floors
        self._fairness = fairness
        self._count = 0
        self._under_way: Claim | None = None
        self._sent_at = 0.0
        self._scan = False
        self._urgent = False
        self._pause = Cooldown(first=0.1, longest=5.0)
        self._blanks: dict[str, int] = {}

    @property
    def under_way(self) -> bool:
        """Whether a claim is under way: its rows run already, but nobody holds them yet."""
        return self._under_way is not None

    def room_made(self) -> None:
        """There may be room for more rows: claim when that is worth a round trip."""
        self._scan = True

    def wake(self) -> None:
        """There may be rows that nobody has told of: claim as soon as possible."""
        self._scan = self._urgent = True

    def failed(self, now: float, *, unknown: bool) -> None:
        """The claim under way did not come back. *unknown*: it may have been done."""
        self._under_way = None
        self._scan = True
        self.unknown = self.unknown or unknown
        self._pause.trouble(now)
        self._floors.end(now, failed=True)

    def came_back(self, event: Claimed, now: float) -> bool:
        """The claim under way has brought its rows. Return whether some stage has no more."""
        asked, self._under_way = self._under_way, None
        self._pause.clear()
        rows: dict[str, list[tuple[int, str]]] = {}
        for row in event.rows:
            rows.setdefault(row.stage, []).append((row.workqueue_id, row.sender))
        windows = {window.stage: window for window in event.windows}
        if self._fairness is not None:
            self._fairness.looked(event.windows, self._sent_at)
        self.by_age = {want.stage: want.fifo for want in asked.wants} if asked else {}
        short = False
        for want in asked.wants if asked else ():
            left = self._took(want, rows.get(want.stage, []), windows.get(want.stage), now)
            self._scan = self._scan or left
            short = short or not left
        self._floors.end(now)
        return short

    def next_time(self, now: float) -> float:
        """Return when ``begin`` has something to do that it could not do at *now*, infinity if never."""
        if self._pause.active(now):
            return self._pause.until if self._scan else float("inf")
        return self._floors.next_time(now)

    def begin(self, now: float) -> Claim | None:
        """Return the claim that is to be made now, if any."""
        if self._under_way is not None or self._pause.active(now):
            return None
        rooms = {}
        hungry = self._urgent
        for name, pool in self._pools.items():
            due = self._floors.due(name, now)
            room = pool.room(self._ledger.in_flight(name), now, urgent=self._urgent or due)
            if room:
                rooms[name] = room
                hungry = hungry or due or (self._scan and pool.hungry(room))
        if not rooms or not hungry:
            return None
        self._count += 1
        self._floors.begin({name: self._by_age(name, room, now) > 0 for name, room in rooms.items()}, now)
        wants = tuple(self._want(name, room, now) for name, room in rooms.items())
        token = claim.pack(self._epoch, self._count)
        self._under_way = Claim(token=token, fair=self._fairness is not None, wants=wants)
        self._sent_at = now
        self._scan = self._urgent = False
        return self._under_way

    def _by_age(self, name: str, capacity: int, now: float) -> int:
        """Return how many of *capacity* rows are to be the oldest ones."""
        return capacity if self._fairness is None else self._fairness.at(name, now).carry.part(capacity)

    def _want(self, name: str, capacity: int, now: float) -> Want:
        floor = self._floors.floor(name)
        if self._fairness is None:
            return Want(stage=name, capacity=capacity, floor=floor)
        stage = self._fairness.at(name, now)
        limit = max(FEWEST_LEADS, min(MOST_LEADS, LEADS_A_ROW * capacity))
        if not self._pools[name].backlog:
            limit = LEADS_IDLE
        floors = self._floors.of_senders(name, stage.after, limit, now)
        senders = [Sender(key, lead, floors.pop(key, 0)) for key, lead in stage.leads.top(limit, now)]
        senders += [Sender(key, 0.0, own) for key, own in floors.items()]
        return Want(
            stage=name,
            capacity=capacity,
            # Only the oldest rows tell how far a deep look has come.
            fifo=max(self._by_age(name, capacity, now), int(self._floors.is_deep(name))),
            average=self._pools[name].average,
            after=stage.after,
            floor=floor,
            senders=tuple(senders),
        )

    def _took(self, want: Want, rows: list[tuple[int, str]], window: Window | None, now: float) -> bool:
        """Put down what a claim brought for one stage. Return whether more is likely to wait there."""
        complete = window is None or window.complete
        all_taken = complete and len(rows) < want.capacity
        oldest = len(rows) if self._fairness is None else want.fifo
        self._floors.claimed(want.stage, rows, oldest, now, all_taken=all_taken)
        if self._fairness is not None:
            self._fairness.at(want.stage, now).carry.took(len(rows), oldest, all_taken=all_taken)
        blanks = self._blanks[want.stage] = 0 if rows or complete else self._blanks.get(want.stage, 0) + 1
        left = not all_taken and blanks < MOST_BLANKS
        if left and len(rows) < want.capacity:
            self._urgent = True  # the senders of this window had not enough to fill the room: others may
        pool = self._pools.get(want.stage)
        if pool is None:
            return False  # the stage is gone meanwhile
        pool.backlog = left
        return left
