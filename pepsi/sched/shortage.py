"""What is done about it when workers find no database connection: claims wait, and workers become fewer."""

from collections.abc import Mapping

from pepsi.sched.books import Books
from pepsi.sched.commands import Level
from pepsi.sched.overload import WINDOW, Overload
from pepsi.sched.pool import Pool
from pepsi.sched.worker import Worker


class Shortage:
    """Keeps the limits of *pools*, by the name of their stage."""

    def __init__(self, pools: Mapping[str, Pool], books: Books) -> None:
        self._pools = pools
        self._books = books
        self._overload = Overload()

    def found(self, worker: Worker, now: float) -> None:
        """*worker* found no free connection."""
        pool = self._pools[worker.stage]
        if not pool.hold_off.active(now):
            text = (
                "worker {worker} of {stage} found no free database connection; nothing is claimed for the stage for "
                "{pause:g} s. Raise max_connections, or lower PARALLELISM"
            )
            pause = pool.hold_off.trouble(now)
            self._books.note(Level.WARN, text, worker=worker.number, stage=worker.stage, pause=pause)
        running = {name: len(pool.workers) for name, pool in self._pools.items() if pool.workers}
        lowered = self._overload.report(running, now)
        if lowered is None:
            return
        self.set_limits()
        if lowered.limit < self._pools[lowered.stage].spec.parallelism:
            text = (
                "the database has no connection left: stage {stage}, which runs most workers ({workers}), may have "
                "at most {limit} for {window:g} s"
            )
            facts = {"workers": lowered.workers, "limit": lowered.limit, "window": WINDOW}
            self._books.note(Level.WARN, text, stage=lowered.stage, **facts)

    def set_limits(self) -> None:
        """Give each pool the limit that holds for it, now that one of them or its PARALLELISM has changed."""
        for name, pool in self._pools.items():
            pool.limit = self._overload.limit(name, pool.spec.parallelism)

    def ease(self, now: float) -> bool:
        """Let stages have more workers again whose limit was lowered long ago. Return whether some may."""
        if now < self._overload.next_time():
            return False
        eased = self._overload.ease({name: pool.spec.parallelism for name, pool in self._pools.items()}, now)
        for stage, limit in eased.items():
            self._books.note(Level.INFO, "stage {stage} may have {limit} workers again", stage=stage, limit=limit)
        self.set_limits()
        return bool(eased)

    def next_time(self) -> float:
        """Return when ``ease`` has something to do, infinity if never."""
        return self._overload.next_time()
