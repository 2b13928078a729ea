"""What can be read off the engine at any moment, for metrics: values only, nothing of them is kept up to date."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pepsi.sched.books import Books
from pepsi.sched.crew import Crew
from pepsi.sched.events import Wake
from pepsi.sched.pool import Pool
from pepsi.sched.statistics import MemoryCounts, StageCounts
from pepsi.sched.worker import Life, Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class StageGauges:
    """One stage. Times are in seconds; *workers* are by the name of their ``Life``, every one of them in it."""

    stage: str
    in_flight: int
    waiting: int
    """Of those in flight, the ones that wait for a slot."""
    workers: Mapping[str, int]
    parallelism: int
    """How many workers there may be at the moment."""
    hold_off: float
    """How long nothing more is claimed; 0 when claims are made."""
    cooldown: float
    """How long no worker is started; 0 when they are."""
    head_lag: float
    """How long the slowest worker has been at the head of its line."""
    average: float
    """The moving average of what a message takes."""
    counts: StageCounts
    """All since the start."""
    memory: MemoryCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """The whole engine. *passes*, *failed* and *wakes* (by reason) are counts since the start."""

    in_flight: int
    owed: int
    lock_held: bool
    stopping: bool
    passes: int
    failed: int
    wakes: Mapping[str, int]
    stages: tuple[StageGauges, ...]


def read(crew: Crew, books: Books, now: float, *, lock_held: bool, stopping: bool) -> Gauges:
    """Return the state of the engine whose parts these are."""
    total = books.statistics.total
    stages = tuple(_stage(pool, books, total.stages.get(name, StageCounts()), now) for name, pool in crew.pools.items())
    return Gauges(
        in_flight=len(books.ledger),
        owed=len(books.owed),
        lock_held=lock_held,
        stopping=stopping,
        passes=total.passes,
        failed=total.failed,
        wakes={reason.value: books.statistics.wakes.get(reason, 0) for reason in Wake},
        stages=stages,
    )


def _stage(pool: Pool, books: Books, counts: StageCounts, now: float) -> StageGauges:
    name = pool.spec.name
    workers = pool.workers.values()
    return StageGauges(
        stage=name,
        in_flight=books.ledger.in_flight(name),
        waiting=len(pool.waiting) + len(pool.lonely),
        workers={life.value: sum(worker.life is life for worker in workers) for life in Life},
        parallelism=pool.limit,
        hold_off=max(0.0, pool.hold_off.until - now),
        cooldown=max(0.0, pool.cooldown.until - now),
        head_lag=max((_lag(worker, now) for worker in workers), default=0.0),
        average=pool.average,
        counts=replace(counts),
        memory=replace(books.statistics.memory.get(name, MemoryCounts())),
    )


def _lag(worker: Worker, now: float) -> float:
    if not worker.line:
        return 0.0
    since = worker.head_since if worker.was_ready else worker.since
    return max(0.0, now - since)
