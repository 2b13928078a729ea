"""The workers of one stage, and the ids that were claimed for it and wait for a slot."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from pepsi.model.stage import StageSpec
from pepsi.sched.cooldown import Cooldown
from pepsi.sched.held import Held
from pepsi.sched.packing import Elsewhere, choose, choose_alone, depth, kept_free
from pepsi.sched.reserve import Reserve
from pepsi.sched.worker import Life, Worker

FIRST_GUESS = 0.010
"""Seconds a message takes at a stage of which nothing is known yet."""
LEAST_TIME = 1e-6
"""Seconds that a message is taken to need at least. Answers that all come at once bring the average nearer to zero with
each, to where what is divided by it is infinite."""
SLOW = 0.005
"""Seconds a message takes at a stage at which it matters who is handed out first."""
LEAST_RESERVING = 2
"""Workers that a stage must have for one of them to be kept free."""
WEIGHT = 0.1
"""Of the newest measurement in the moving average."""


@dataclass(slots=True)
class Pool:
    """One stage's part of the dispatcher. *average* is its time for a message, in seconds."""

    spec: StageSpec
    reserve: Reserve | None = None
    """Where senders take turns, so that little is handed out ahead of time."""
    workers: dict[int, Worker] = field(default_factory=dict)
    waiting: deque[Held] = field(default_factory=deque)
    lonely: deque[Held] = field(default_factory=deque)
    """What waits to run alone."""
    average: float = FIRST_GUESS
    backlog: bool = False
    """Whether the last claim brought all it asked for, so that more is likely to wait."""
    limit: int = 0
    """How many workers it may have at most: PARALLELISM, or less while the database has no connection left."""
    removed: bool = False
    """Whether the stage is configured no more: its workers finish what they hold, and then it is gone."""
    beside: int = 0
    """How many workers that go out may run beside those that take their place."""
    cooldown: Cooldown = field(default_factory=lambda: Cooldown(first=1.0, longest=60.0))
    """No worker is started: the last ones could not be, or died before they were ready."""
    hold_off: Cooldown = field(default_factory=lambda: Cooldown(first=0.5, longest=30.0, quiet=60.0))
    """Nothing is claimed: the workers find no database connection. A success does not end it: of many messages one may
    keep saying so while the others go through, and would be tried again without a pause."""

    def __post_init__(self) -> None:
        self.limit = self.spec.parallelism

    @property
    def untold(self) -> list[Cooldown]:
        """Pauses that last, or of whose end nobody knows yet."""
        return [pause for pause in (self.cooldown, self.hold_off) if not pause.told]

    @property
    def depth(self) -> int:
        """How many ids a worker is handed at most, its head among them."""
        return depth(self.spec.queue_limit, self.average) if self.reserve is not None else self.spec.queue_limit

    @property
    def goal(self) -> int:
        """How many ids it is good to have in flight: what workers can be handed, and a few that wait for that."""
        return self.limit * min(self.spec.queue_limit, self.depth + 1)

    def room(self, in_flight: int, now: float, *, urgent: bool = False) -> int:
        """Return how many ids may be claimed for the stage, with *in_flight* held already.

        What is claimed ahead of time keeps out what comes later and should go first. *urgent*: such mail may have come,
        so that there is room for some of it as long as there is any at all.
        """
        if self.hold_off.active(now) or self.removed:
            return 0
        # What workers that go out still hold keeps nothing from those that take their place.
        in_flight -= sum(len(worker.line) for worker in self.workers.values() if worker.outgoing)
        capacity = self.capacity
        if self.cooldown.active(now):
            ready = self.spec.queue_limit * sum(w.life is Life.READY for w in self.workers.values())
            capacity = min(capacity, ready)
        good = min(capacity, self.goal) - in_flight
        return max(0, min(capacity - in_flight, max(good, self.limit) if urgent else good))

    def hungry(self, room: int) -> bool:
        """Whether a claim is worth its round trip now, rather than after a few more answers.

        While a backlog is being worked off and every worker has mail in its pipe, one claim for half the capacity is
        as good as several for a slot each, and much cheaper.
        """
        if not self.backlog or room * 2 >= self.goal:
            return True
        return not self.waiting and any(w.life is Life.READY and not w.line for w in self.fed)

    def measured(self, seconds: float, answers: int) -> None:
        """Fold *answers* that took *seconds* each into the average."""
        keep = (1 - WEIGHT) ** answers
        self.average = max(LEAST_TIME, self.average * keep + seconds * (1 - keep))

    def may_start(self, now: float) -> bool:
        """Whether the stage may have one more worker."""
        if self.cooldown.active(now) or self.hold_off.active(now) or self.removed:
            return False
        if self.cooldown.length and any(worker.life is Life.STARTING for worker in self.workers.values()):
            return False  # the last one failed: whether this one gets ready is waited for
        outgoing = sum(worker.outgoing for worker in self.workers.values())
        if not outgoing or self.limit < self.spec.parallelism:
            # While connections are short those that go out count: each has one.
            return len(self.workers) < self.limit
        return len(self.workers) < min(self.limit + outgoing, self.spec.parallelism + self.beside)

    def send_out(self) -> None:
        """Let no worker that runs now take more.

        Those that take their place need not wait until they are gone, which can take as long as a message may. But one
        change after another must not pile up workers, each with its database connection: no more run in all than the
        old configuration allowed, and the new one.
        """
        if not any(worker.outgoing for worker in self.workers.values()):
            self.beside = 0
        self.beside = max(self.beside, self.spec.parallelism)
        for worker in self.workers.values():
            if worker.life.takes_ids:
                worker.life, worker.outgoing = Life.DRAINING, True

    def change(self, spec: StageSpec) -> None:
        """Go on under *spec*. What kept workers from being started may be mended: it is tried at once."""
        self.spec, self.removed = spec, False
        self.cooldown.clear()

    @property
    def capacity(self) -> int:
        """How many ids may be in flight for the workers that there may be now."""
        return self.limit * self.spec.queue_limit

    @property
    def fed(self) -> list[Worker]:
        """The workers that are given ids: as many as there may be, the oldest first, so that a surplus goes cold."""
        takers = [worker for worker in self.workers.values() if worker.life.takes_ids and worker.quota > 0]
        return takers[: self.limit]

    @property
    def has_waiting(self) -> bool:
        """Whether an id waits for a slot."""
        return bool(self.waiting or self.lonely)

    def queue(self, held: Held) -> None:
        """Let *held* wait for a slot."""
        (self.lonely if held.alone else self.waiting).append(held)
        if self.reserve is not None:
            self.reserve.note(held.sender, self.limit, held.charged_at)

    def unplaced(self) -> Iterator[Held]:
        """Take away all that waits."""
        for line in (self.lonely, self.waiting):
            while line:
                yield line.popleft()

    def placements(self, now: float) -> Iterator[tuple[Held, Worker | None]]:
        """Take waiting ids one by one, each with the worker it goes to; None where one has to be started first.

        After a None the caller adds the new worker to ``workers`` and goes on.
        """
        while self.lonely:
            choice = choose_alone(self.fed, waiting=len(self.lonely), may_start=self.may_start(now))
            if choice is Elsewhere.WAIT:
                break
            yield self._placed(self.lonely, choice)
        if self.reserve is not None and self.average >= SLOW:
            yield from self._turns(self.reserve, now)
            return
        workers: list[Worker] | None = None
        while self.waiting:
            if workers is None:
                workers, may_start = self._open_workers(), self.may_start(now)
            choice = self._choice(workers, may_start=may_start)
            if choice is Elsewhere.WAIT:
                return
            yield self._placed(self.waiting, choice)
            if not isinstance(choice, Worker) or choice.quota <= 0:
                workers = None

    def _turns(self, reserve: Reserve, now: float) -> Iterator[tuple[Held, Worker | None]]:
        """Place ids at a stage where one takes long: the oldest ones first, then those of senders with nothing at work.

        No sender is kept waiting for ever by that: as soon as it has nothing at work, its ids go by the order in which
        they were claimed.
        """
        at_work = {held.sender for worker in self.workers.values() for held in worker.line}
        most = self.depth
        while self.waiting:
            workers, may_start = self._open_workers(), self.may_start(now)
            if not may_start and all(len(worker.line) >= most for worker in workers):
                return
            reserving = self.limit >= LEAST_RESERVING and reserve.wanted(at_work, now)
            placed = None
            tried = set()
            for held in sorted(self.waiting, key=lambda held: (not held.by_age, held.sender in at_work)):
                new = held.sender not in at_work
                if new in tried:
                    continue
                tried.add(new)
                placed = self._turn(held, workers, new=new, reserving=reserving, may_start=may_start)
                if placed is not None:
                    break
            if placed is None:
                return
            if placed[1] is not None:
                self.waiting.remove(placed[0])
                at_work.add(placed[0].sender)
            yield placed

    def _turn(
        self, held: Held, workers: list[Worker], *, new: bool, reserving: bool, may_start: bool
    ) -> tuple[Held, Worker | None] | None:
        """Place one id, of a sender that is *new* if it has nothing at work. Return None if it has to wait."""
        idle = [worker for worker in workers if worker.is_idle]
        if new and idle:
            workers = idle
        elif reserving and not new:
            # One that is ready is kept, not just the right to start one. Not always the same, which would be let go
            # for having nothing to do.
            longest = [min(idle, key=lambda worker: worker.idle_since)] if len(idle) > 1 else []
            workers = [worker for worker in workers if not worker.is_idle] + longest
            busy = sum(bool(worker.line) or not worker.life.takes_ids for worker in self.workers.values())
            may_start = may_start and self.limit - busy > 1
        choice = self._choice(workers, may_start=may_start)
        if choice is Elsewhere.WAIT:
            return None
        return held, choice if isinstance(choice, Worker) else None

    def _open_workers(self) -> list[Worker]:
        """Return the workers that may be fed beside what runs alone."""
        free = kept_free(self.fed) if self.lonely else None
        return [worker for worker in self.fed if worker is not free]

    def _choice(self, workers: list[Worker], *, may_start: bool) -> Worker | Elsewhere:
        # What waits in the database presses, too, where little of it is claimed ahead of time.
        more = self.spec.capacity if self.backlog and self.reserve is not None else 0
        return choose(
            workers,
            waiting=len(self.waiting) + more,
            queue_limit=self.spec.queue_limit,
            average=self.average,
            may_start=may_start,
            depth=self.depth,
        )

    def _placed(self, line: deque[Held], choice: Worker | Elsewhere) -> tuple[Held, Worker | None]:
        return (line.popleft(), choice) if isinstance(choice, Worker) else (line[0], None)
