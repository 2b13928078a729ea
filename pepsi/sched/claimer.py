"""When to claim, and for which stages. One claim is under way at a time; what happens meanwhile goes into the next."""

from collections.abc import Mapping

from pepsi.model import claim
from pepsi.sched.commands import Claim, Want
from pepsi.sched.cooldown import Cooldown
from pepsi.sched.held import Ledger
from pepsi.sched.pool import Pool


class Claimer:
    """The claim under way, or the reasons for the next one."""

    def __init__(self, epoch: int, pools: Mapping[str, Pool], ledger: Ledger) -> None:
        self.unknown = False
        """Whether a claim may have been done of which nothing came back."""
        self._epoch = epoch
        self._pools = pools
        self._ledger = ledger
        self._count = 0
        self._under_way: Claim | None = None
        self._scan = False
        self._urgent = False
        self._pause = Cooldown(first=0.1, longest=5.0)

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

    def came_back(self, got: Mapping[str, int]) -> bool:
        """The claim under way has brought so many rows of each stage. Return whether some stage has no more."""
        asked, self._under_way = self._under_way, None
        self._pause.clear()
        short = False
        for want in asked.wants if asked else ():
            pool = self._pools[want.stage]
            pool.backlog = got.get(want.stage, 0) >= want.capacity
            self._scan = self._scan or pool.backlog
            short = short or not pool.backlog
        return short

    def next_time(self, now: float) -> float:
        """Return when ``begin`` has something to do that it could not do at *now*, infinity if never."""
        return self._pause.until if self._scan and self._pause.active(now) else float("inf")

    def begin(self, now: float) -> Claim | None:
        """Return the claim that is to be made now, if any."""
        if not self._scan or self._under_way is not None or self._pause.active(now):
            return None
        wants = []
        hungry = self._urgent
        for name, pool in self._pools.items():
            room = pool.room(self._ledger.in_flight(name), now)
            if room:
                wants.append(Want(stage=name, capacity=room))
                hungry = hungry or pool.hungry(room)
        if not wants or not hungry:
            return None
        self._count += 1
        self._under_way = Claim(token=claim.pack(self._epoch, self._count), fair=False, wants=tuple(wants))
        self._scan = self._urgent = False
        return self._under_way
