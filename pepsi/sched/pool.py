"""The workers of one stage, and the ids that were claimed for it and wait for a slot."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from pepsi.model.stage import StageSpec
from pepsi.sched.cooldown import Cooldown
from pepsi.sched.held import Held
from pepsi.sched.packing import Elsewhere, choose, choose_alone, depth, kept_free
from pepsi.sched.worker import Life, Worker

FIRST_GUESS = 0.010
"""Seconds a message takes at a stage of which nothing is known yet."""
WEIGHT = 0.1
"""Of the newest measurement in the moving average."""


@dataclass(slots=True)
class Pool:
    """One stage's part of the dispatcher. *average* is its time for a message, in seconds."""

    spec: StageSpec
    fair: bool = False
    """Whether senders take turns, so that little is handed out ahead of time."""
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
        return depth(self.spec.queue_limit, self.average) if self.fair else self.spec.queue_limit

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
        self.average = self.average * keep + seconds * (1 - keep)

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
        free = kept_free(self.fed) if self.lonely else None
        while self.waiting:
            choice = choose(
                [worker for worker in self.fed if worker is not free],
                waiting=len(self.waiting),
                queue_limit=self.spec.queue_limit,
                average=self.average,
                may_start=self.may_start(now),
            )
            if choice is Elsewhere.WAIT:
                return
            yield self._placed(self.waiting, choice)

    def _placed(self, line: deque[Held], choice: Worker | Elsewhere) -> tuple[Held, Worker | None]:
        return (line.popleft(), choice) if isinstance(choice, Worker) else (line[0], None)
