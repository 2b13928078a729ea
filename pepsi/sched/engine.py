"""The dispatcher without the world: events in, commands out.

Pure: time and chance are arguments, and what is to be done is returned. The engine routes, and decides when to claim,
when to write and when to end; its parts keep the rest: the crew (workers, placement, blame), the books (held ids, owed
writes, statistics) and the timetable (heartbeats, due rows).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from pepsi.model import claim
from pepsi.model.row import RowStatus
from pepsi.model.stage import StageSpec
from pepsi.sched import commands, events, gauges
from pepsi.sched.books import Books
from pepsi.sched.claimer import Claimer
from pepsi.sched.commands import Command, Level, Settlement
from pepsi.sched.crew import Crew
from pepsi.sched.events import Event, Wake
from pepsi.sched.fairness import Fairness
from pepsi.sched.gauges import Gauges
from pepsi.sched.held import Held
from pepsi.sched.settings import Settings
from pepsi.sched.statistics import Statistics
from pepsi.sched.sweeping import SWEEP_LIMIT, Sweeping
from pepsi.sched.timetable import FLIP_LIMIT, Timetable

DOUBT = 60.0
"""Seconds without the lock after which the workers are killed: another dispatcher may be at work."""
SUSPENDED = 5.0
"""Seconds by which a timer must be late to show that this process stood still."""
FENCED_PATIENCE = 10.0
"""Seconds that a dispatcher which was replaced waits for the workers that it has killed."""
REFUSED_PAUSE = 300.0
"""Seconds that a message waits for which the database refuses to write down what became of it."""
STRAY = "its worker answered 0 and committed nothing"
"""Said of a message that runs although its worker has let it go."""


class Engine:
    """All that the dispatcher knows and decides. Feed it through ``handle``; wake it at ``next_wake``."""

    def __init__(
        self, settings: Settings, specs: Mapping[str, StageSpec], epoch: int, now: float, chance: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._epoch = epoch
        self._times = Timetable(settings.poll_interval, beat_at=now + settings.poll_interval)
        self._stats = Statistics(settings.stats_interval, number=0, flushed_at=now, told_at=now)
        self._sweeping = Sweeping(settings.stats_interval, swept_at=now)
        fairness = Fairness(settings.fair_half_life, settings.fair_fifo_percent)
        self._books = Books(self._stats, self._times, chance, fairness)
        half_life = settings.fair_half_life if settings.fair else None
        self._crew = Crew(
            specs, self._books, half_life=half_life, idle_timeout=settings.worker_idle_timeout, trace=settings.trace
        )
        self._claimer = Claimer(
            epoch, self._crew.pools, self._books.ledger, self._books.floors, fairness if settings.fair else None
        )
        self._lock_lost: float | None = now
        self._stop_by: float | None = None
        self._fenced: float | None = None
        self._exited = False
        self._ask_due = False
        self._look = 0
        self._census: list[events.RunningRow] | None = None
        self._strangers: set[tuple[int, int]] = set()
        self._done_before: set[int] = set()
        self._former_returned = False
        self._expected = float("inf")
        self._last = now

    def handle(self, happened: Iterable[Event], now: float) -> list[Command]:
        """Take in what happened, all of it first, and return what is to be done about it."""
        if now > self._expected + SUSPENDED:
            # When in the meantime it stood still nobody knows, so none of it counts against anybody.
            self._crew.shift(now - self._last)
        for event in happened:
            self._route(event, now)
        if not self._exited:
            self._decide(now)
        self._expected, self._last = self._next_wake(now), now
        out, self._books.out = self._books.out, []
        return out

    @property
    def next_wake(self) -> float:
        """When a Tick is wanted if nothing happens before, in the clock that ``handle`` is given."""
        return self._expected

    def _next_wake(self, now: float) -> float:
        if self._exited:
            return float("inf")
        if self._fenced is not None:
            return max(now, self._fenced + FENCED_PATIENCE)
        times = [self._times.beat_at, self._crew.next_time()]
        if self._lock_lost is None and self._stop_by is None:
            times.append(self._times.next_due())
        times += [self._books.owed.next_time(), self._claimer.next_time(now)]
        flush = self._flush_due()
        if flush is not None:
            times.append(flush)
        if self._stop_by is not None:
            times.append(self._stop_by)
        if self._lock_lost is not None and self._crew.any_alive:
            times.append(self._lock_lost + DOUBT)
        return max(now, min(times))

    def holdings(self) -> list[Held]:
        """Return every claim held."""
        return list(self._books.ledger)

    def gauges(self, now: float) -> Gauges:
        """Return what metrics are made of."""
        lock_held, stopping = self._lock_lost is None, self._stop_by is not None
        return gauges.read(self._crew, self._books, now, lock_held=lock_held, stopping=stopping)

    def spec(self, stage: str) -> StageSpec:
        """Return what a worker of *stage* that the last turn has started is to be."""
        return self._crew.pools[stage].spec

    def _route(self, event: Event, now: float) -> None:
        match event:
            case events.Woken(reason):
                self._wake(reason, now)
            case events.Claimed():
                self._claimed(event, now)
            case events.ClaimFailed(unknown):
                self._claimer.failed(now, unknown=unknown)
            case events.WorkerReady():
                self._crew.ready(event, now)
            case events.Answered():
                self._crew.answered(event, now)
                self._claimer.room_made()
            case events.Garbled():
                self._crew.garbled(event, now)
            case events.WorkerGone():
                self._crew.gone(event, now)
                self._claimer.wake()
            case events.WorkerNotStarted():
                self._crew.not_started(event, now)
            case events.Settled(locked):
                written = list(self._books.owed.written(now, locked))
                self._books.floors.returned(held.workqueue_id for held in written)
                for held in written:
                    self._books.release(held)
                if locked:
                    text = "somebody holds locks on messages {ids}, for which something is to be written"
                    self._books.note(Level.WARN, text, ids=list(locked))
                self._claimer.wake()
            case events.SettleFailed():
                self._settle_failed(event, now)
            case events.DueIn(delay):
                self._times.answered(now, delay)
            case events.DueFailed():
                self._times.failed(now)
                self._books.floors.doubt()
            case events.Flipped(ids):
                self._times.flipped(now, more=len(ids) >= FLIP_LIMIT)
                self._books.floors.returned(ids)
                self._wake(Wake.DUE, now)
            case events.RunningRows(look=look, rows=rows) if look == self._look:
                # What is held now may be moved on before all this is judged, which waits for the claim under way.
                self._census = [row for row in rows if not self._books.ledger.knows(row.workqueue_id)]
            case events.RunningRows():
                pass  # in answer to an older question
            case events.FormerReturned():
                self._former_returned = True
                self._books.floors.doubt(certain=True)
            case events.Flushed():
                self._stats.end(written=True)
            case events.FlushFailed():
                self._stats.end(written=False)
            case events.Swept(more):
                self._sweeping.end(more=more)
            case events.LockLost():
                self._lock_lost = now if self._lock_lost is None else self._lock_lost
                self._forget_looks()
            case events.LockHeld():
                self._lock_lost = None
                self._claimer.unknown = False
                self._forget_looks()
                self._books.owed.hurry()
                self._books.floors.doubt(certain=True)
                self._wake(Wake.CONNECTED, now)
            case events.Fenced(why):
                self._fenced = now
                self._books.note(Level.ERROR, "another dispatcher has taken over: {why}", why=why)
                self._crew.kill_all("another dispatcher has taken over", now)
            case events.ConfigChanged(specs):
                if self._stop_by is None:
                    self._crew.reconfigure(specs, now)
                    self._claimer.wake()
            case events.WorkersOutdated():
                if self._stop_by is None:
                    self._crew.renew()
            case events.StopRequested():
                if self._stop_by is None:
                    self._stop_by = now + self._settings.stop_time
                    self._books.owed.hurry()
                    self._crew.stop(now)
            case events.Tick():
                pass
            case _:
                assert_never(event)

    def _wake(self, reason: Wake, now: float) -> None:
        self._stats.wakes[reason] = self._stats.wakes.get(reason, 0) + 1
        self._claimer.wake()
        if reason in (Wake.HEARTBEAT, Wake.CONNECTED, Wake.REPAIR):
            self._books.floors.doubt(certain=reason is Wake.REPAIR)
        self._ask_due = self._ask_due or reason in (Wake.HEARTBEAT, Wake.CONNECTED)

    def _claimed(self, event: events.Claimed, now: float) -> None:
        nothing_left = self._claimer.came_back(event, now)
        by_age = dict(self._claimer.by_age)
        for row in event.rows:
            held = Held(row.workqueue_id, event.token, row.stage, row.strikes, row.sender, interrupted=row.interrupted)
            if self._settings.fair and self._crew.serves(held.stage):
                held.by_age = by_age.get(row.stage, 0) > 0
                by_age[row.stage] = by_age.get(row.stage, 0) - 1
                self._books.fairness.charge(held, self._crew.pools[row.stage].average, now)
            if self._books.take(held, now):
                self._queue(held, now)
        if nothing_left or self._ask_due:
            self._times.want_ask(now)
        self._ask_due = False

    def _queue(self, held: Held, now: float) -> None:
        if self._stop_by is None and self._crew.serves(held.stage):
            self._crew.queue(held)
        else:
            self._books.give_back(held, now)

    def _settle_failed(self, event: events.SettleFailed, now: float) -> None:
        owed = self._books.owed
        if not event.refused:
            owed.failed(now)
            return
        culprit = owed.refused()
        if culprit is None:
            return
        held, write = culprit
        last_resort = Settlement(
            workqueue_id=held.workqueue_id, claim=held.claim, status=RowStatus.PAUSED, delay=REFUSED_PAUSE
        )
        text = "the database refuses what is owed for message {workqueue_id} at {stage}: {why}"
        self._books.note(Level.ERROR, text, workqueue_id=held.workqueue_id, stage=held.stage, why=event.why)
        if write != last_resort:
            self._books.owe(held, last_resort, now)
        else:
            # It stays held, so that nobody is blamed for it: the next dispatcher tries.
            owed.failed(now)
            self._books.owe(held, last_resort, now)

    def _forget_looks(self) -> None:
        """What was seen before the rows were reconciled counts no more."""
        self._look += 1
        self._census = None
        self._strangers = set()

    def _look_for_strays(self, now: float) -> None:
        """Give back rows that twice in a row ran under a token that nobody holds.

        If its worker had answered 0 for it, the worker said that all was done and committed nothing: the message takes
        a strike, or it would go round for ever. Not while a claim is under way: its rows run already, but nobody holds
        them yet.
        """
        if self._census is None or self._claimer.under_way:
            return
        census, self._census = self._census, None
        strangers = set()
        for row in census:
            key = row.workqueue_id, row.claim
            epoch = claim.epoch_of(row.claim)
            theirs = epoch > self._epoch or (epoch < self._epoch and not self._former_returned)
            if theirs or self._books.ledger.knows(row.workqueue_id):
                continue
            strangers.add(key)
            if key in self._strangers:
                held = Held(*key, row.stage, row.strikes, stray=True)
                self._books.take(held, now)
                self._return_stray(held, now)
        self._strangers = strangers
        self._done_before, self._crew.done = self._crew.done, set()

    def _return_stray(self, held: Held, now: float) -> None:
        if held.workqueue_id in self._crew.done or held.workqueue_id in self._done_before:
            self._books.strike(held, STRAY, hang=False, now=now)
            return
        text = "message {workqueue_id} was running at {stage}, but nobody was at work on it; it is given back"
        self._books.note(Level.WARN, text, workqueue_id=held.workqueue_id, stage=held.stage)
        self._books.give_back(held, now)

    def _decide(self, now: float) -> None:
        if self._fenced is not None:
            if not self._crew.workers or now >= self._fenced + FENCED_PATIENCE:
                self._exit(1)
            return
        self._crew.watch(now)
        # Both are asked, whatever the first one says.
        if self._crew.pauses_over(now) | self._crew.shortage.ease(now):
            self._claimer.wake()
        if self._times.beat(now):
            self._wake(Wake.HEARTBEAT, now)
            if self._lock_lost is None:
                self._look += 1
                self._books.out += (commands.AskRunning(self._look), commands.Inspect())
                self._sweep(now)
        self._look_for_strays(now)
        freed, self._books.freed = self._books.freed, []
        for held in freed:
            self._queue(held, now)
        if self._lock_lost is None and self._stop_by is None:
            self._crew.place(now)
        # Without the lock, too: the engine would otherwise be woken for nothing, over and over, until it is back.
        self._crew.dismiss(now)
        if self._lock_lost is None:
            if self._stop_by is None:
                claimed = self._claimer.begin(now)
                if claimed is not None:
                    self._books.out.append(claimed)
                self._look_at_due(now)
        elif now >= self._lock_lost + DOUBT:
            self._crew.kill_all(f"the dispatcher's lock has been in doubt for {DOUBT:g} s", now)
        self._write(now)
        self._finish(now)

    def _look_at_due(self, now: float) -> None:
        if self._ask_due and not self._claimer.under_way:
            self._ask_due = False
            self._times.want_ask(now)
        if self._times.wants_flip(now):
            self._times.flipping()
            self._books.out.append(commands.FlipDue(FLIP_LIMIT))
        elif self._times.wants_ask(now):
            self._times.asking(now)
            self._books.out.append(commands.AskDue())

    def _write(self, now: float) -> None:
        if now >= self._books.owed.next_time():
            self._books.out.append(commands.Settle(self._books.owed.begin(now)))
        flush = self._flush_due()
        if flush is not None and now >= flush:
            deltas = self._stats.begin(now)
            self._books.out.append(commands.Flush(self._stats.number, deltas))
            self._sweeping.ended = self._sweeping.ended or deltas.passes > 0
            self._sweep(now)
            self._tell(now)

    def _sweep(self, now: float) -> None:
        if self._stop_by is None and self._sweeping.due(now):
            self._sweeping.begin(now)
            self._books.out.append(commands.Sweep(SWEEP_LIMIT))

    def _tell(self, now: float, *, last: bool = False) -> None:
        news = self._stats.untold(now, last=last)
        if news is not None:
            text = "in the last {seconds:.0f} s: {counts}"
            self._books.note(Level.INFO, text, seconds=news[0], counts=str(news[1]))

    def _flush_due(self) -> float | None:
        stopping = self._stop_by is not None
        if self._lock_lost is not None and not stopping:
            return None
        idle = not len(self._books.ledger)
        return self._stats.due(idle=idle, last=idle and stopping)

    def _finish(self, now: float) -> None:
        if self._stop_by is None:
            return
        quiet = not self._crew.workers and not len(self._books.ledger) and not self._claimer.under_way
        if quiet and not self._claimer.unknown and not self._stats.dirty:
            self._tell(now, last=True)
            self._exit(0)
        elif now >= self._stop_by:
            left = tuple(sorted(held.workqueue_id for held in self._books.ledger))
            if self._claimer.unknown:
                self._books.note(Level.ERROR, "stopped without knowing what the last claim has claimed")
            if left:
                text = "stopped before the database took back {count} messages, which stay running: {ids}"
                self._books.note(Level.ERROR, text, count=len(left), ids=list(left))
            self._exit(1, left)

    def _exit(self, status: int, left: tuple[int, ...] = ()) -> None:
        self._exited = True
        self._books.out.append(commands.Exit(status, left))
