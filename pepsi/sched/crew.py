"""All workers of all stages: what they say, how they end, who is blamed, who gets the next id."""

from collections.abc import Mapping
from typing import Any

from pepsi.model import status
from pepsi.model.row import MOST_INTERRUPTED
from pepsi.model.stage import StageSpec
from pepsi.model.status import Status
from pepsi.sched import commands, events
from pepsi.sched.books import Books
from pepsi.sched.commands import Level
from pepsi.sched.held import Held, Place
from pepsi.sched.pool import Pool
from pepsi.sched.reserve import Reserve
from pepsi.sched.shortage import Shortage
from pepsi.sched.verdict import settlement
from pepsi.sched.worker import Blame, Life, Worker, blame_of

UNKILLABLE = 10.0
"""Seconds after SIGKILL at which a worker that is still there is worth an alarm."""
SIGKILL = 9
MOST_DONE = 500_000
"""Ids answered 0 that are remembered between two looks at the running rows: what a fast machine does meanwhile."""
JITTER = 0.2
"""Part of MAX_MESSAGES by which a worker's quota varies, so that workers are not replaced all at once."""


class Crew:
    """The workers, by number and by stage. Ids that wait for a slot wait in their stage's pool."""

    def __init__(
        self, specs: Mapping[str, StageSpec], books: Books, *, half_life: float | None, idle_timeout: float, trace: bool
    ) -> None:
        self._half_life = half_life
        self.pools = {name: self._pool(spec) for name, spec in specs.items()}
        self._names = set(specs)
        """Of every stage that there was: a worker may report of one that is gone meanwhile, but of no other."""
        self.workers: dict[int, Worker] = {}
        self.done: set[int] = set()
        """Ids that were answered 0. Whoever compares them with the database empties it."""
        self.suspects: set[int] = set()
        """Ids of which one made a worker crash, and nobody knows which: each is to run alone until it is answered."""
        self.shortage = Shortage(self.pools, books)
        self._books = books
        self._idle_timeout = idle_timeout
        self._trace = trace
        self._last = 0
        self._soonest = float("-inf")
        """No worker's ``due`` is sooner, so that until then nobody need be looked at."""

    def _pool(self, spec: StageSpec) -> Pool:
        return Pool(spec, None if self._half_life is None else Reserve(self._half_life))

    @property
    def any_alive(self) -> bool:
        """Whether there is a worker that was not killed."""
        return any(worker.life is not Life.KILLED for worker in self.workers.values())

    # What they say

    def ready(self, event: events.WorkerReady, now: float) -> None:
        """A worker takes ids from now on."""
        worker = self.workers.get(event.worker)
        if worker is None:
            return
        worker.was_ready, worker.batch = True, event.batch
        if worker.life is Life.STARTING:
            worker.life = Life.READY
        worker.idle_since = worker.head_since = now
        self._reckon(worker)

    def answered(self, event: events.Answered, now: float) -> None:
        """A worker's answers: each is for the oldest id it still holds. They share the time since the last one."""
        worker = self.workers.get(event.worker)
        if worker is None or worker.life is Life.KILLED:
            return  # too late: what a killed worker holds is settled when its death is confirmed
        answers = event.statuses[: len(worker.line)]
        if answers:
            pool = self.pools[worker.stage]
            if worker.since >= pool.cooldown.began:
                pool.cooldown.clear()  # an older worker says nothing of whether a new one can be started
            each = max(0.0, now - worker.head_since) / len(answers)
            done = sum(answer.code not in (status.IO_ERROR, status.TEMP_FAIL) for answer in answers)
            pool.measured(each, done)
            for answer in answers:
                self._answer(worker, pool, answer, each, now)
            worker.answered += len(answers)
            worker.head_since = worker.idle_since = now
            self._reckon(worker)
        if len(event.statuses) > len(answers):
            why = "it answered for an id that it does not hold"
            self._note(Level.ERROR, "worker {worker} of {stage} broke the protocol: {why}", worker, why=why)
            self._kill(worker, Blame.NOBODY, why, now)

    def garbled(self, event: events.Garbled, now: float) -> None:
        """A worker cannot be believed any more."""
        worker = self.workers.get(event.worker)
        if worker is not None and worker.life is not Life.KILLED:
            self._note(Level.ERROR, "worker {worker} of {stage} broke the protocol: {why}", worker, why=event.why)
            self._kill(worker, Blame.CRASH if worker.was_ready else Blame.START, event.why, now)

    def _answer(self, worker: Worker, pool: Pool, answer: Status, seconds: float, now: float) -> None:
        held = worker.line.popleft()
        self.suspects.discard(held.workqueue_id)
        self._books.fairness.correct(held, seconds, now)
        self._count(held.stage, answer, seconds)
        if answer.warning:
            self._note(Level.WARN, "worker {worker} of {stage}: {why}", worker, why=answer.warning)
        if self._trace:
            self._note(
                Level.DEBUG, "message {workqueue_id} answered {code} at {stage} after {ms:.1f} ms", worker,
                workqueue_id=held.workqueue_id, code=answer.code, ms=seconds * 1e3,
            )  # fmt: skip
        write = settlement(held, answer, chance=self._books.chance)
        if write is None:
            self._books.statistics.passes += 1
            if len(self.done) < MOST_DONE:
                self.done.add(held.workqueue_id)
            self._books.floors.moved(held.workqueue_id, self._next_stage(held, answer))
            self._books.release(held)
            return
        match answer.code:
            case status.IO_ERROR:
                text = "message {workqueue_id} waits at {stage}: worker {worker} lost its database connection"
                self._note(Level.WARN, text, worker, workqueue_id=held.workqueue_id)
            case status.TEMP_FAIL:
                self.shortage.found(worker, now)
            case _:
                failed_at = self._last_of(held, answer)
                self._books.statistics.passes += 1
                self._books.statistics.at(failed_at).failures += 1
                self._books.statistics.failed += 1
                self._note(
                    Level.INFO, "message {workqueue_id} failed at {failed_at}: {why}", worker,
                    workqueue_id=held.workqueue_id, failed_at=failed_at, why=answer.reason or f"answered {answer.code}",
                )  # fmt: skip
        self._books.owe(held, write, now)

    def _next_stage(self, held: Held, answer: Status) -> str | None:
        """Return the stage at which a message that was answered 0 most likely waits now, None if it is through."""
        pool = self.pools.get(self._last_of(held, answer))
        return None if pool is None else pool.spec.next_stage

    def _last_of(self, held: Held, answer: Status) -> str:
        """Return the stage that was the last to work on a message in the pass that was answered for."""
        last = answer.report[-1].stage if answer.report else held.stage
        return last if last in self._names else held.stage

    def _count(self, stage: str, answer: Status, seconds: float) -> None:
        if answer.code in (status.IO_ERROR, status.TEMP_FAIL):
            # The database has just gone away, or is full: that is no work of the stage.
            memory = self._books.statistics.remember(stage)
            memory.io_errors += answer.code == status.IO_ERROR
            memory.temporary_failures += answer.code == status.TEMP_FAIL
            return
        counts = self._books.statistics.at(stage)
        counts.messages += 1
        counts.microseconds += max(0, int(seconds * 1e6) - sum(part.microseconds for part in answer.report))
        for part in answer.report:
            if part.stage in self._names:
                also = self._books.statistics.at(part.stage)
                also.messages += 1
                also.microseconds += part.microseconds

    # How they end

    def gone(self, event: events.WorkerGone, now: float) -> None:
        """A worker is dead: its head may be to blame, the rest of its line never is."""
        worker = self.workers.get(event.worker)
        if worker is None:
            return
        self._forget(worker)
        why = worker.why or f"the worker ended with {event.how}"
        if worker.line and worker.was_ready:
            # Its head was worked on, in vain; the others were not.
            hangs = worker.blame is Blame.HANG
            spent = worker.max_runtime if hangs else max(0.0, now - worker.head_since)
            self._books.fairness.correct(worker.line[0], spent, now)
        if worker.life is Life.STOPPING and worker.line and event.signal == SIGKILL:
            text = "worker {worker} of {stage} had to be killed; its work on message {workqueue_id} may be done already"
            self._note(Level.WARN, text, worker, workqueue_id=worker.line[0].workqueue_id)
        match blame_of(worker, event.code):
            case Blame.START:
                self._failed_start(worker, why, event.code, now)
            case Blame.CRASH:
                ids = [held.workqueue_id for held in worker.line]
                self._note(Level.WARN, "worker {worker} of {stage} holding {ids}: {why}", worker, ids=ids, why=why)
                self._books.statistics.at(worker.stage).crashes += 1
                self._strike_head(worker, why, hang=False, now=now)
            case Blame.HANG:
                self._strike_head(worker, why, hang=True, now=now)
        self._empty(worker, now)
        self._forget_stage(worker.stage)

    def not_started(self, event: events.WorkerNotStarted, now: float) -> None:
        """A worker's program could not be started."""
        worker = self.workers.get(event.worker)
        if worker is not None:
            self._forget(worker)
            self._failed_start(worker, event.why, None, now)
            self._empty(worker, now)
            self._forget_stage(worker.stage)

    def stop(self, now: float) -> None:
        """Ask every worker to end; what waits for a slot goes back."""
        for pool in self.pools.values():
            self._drain(pool, now)
        for worker in self.workers.values():
            if worker.life is not Life.KILLED:
                worker.life = Life.STOPPING
                self._reckon(worker)
                self._books.out.append(commands.Stop(worker.number))

    def kill_all(self, why: str, now: float) -> None:
        """Kill every worker, and blame nobody."""
        for worker in list(self.workers.values()):
            if worker.life is not Life.KILLED:
                self._kill(worker, Blame.NOBODY, why, now)

    def _kill(self, worker: Worker, blame: Blame, why: str, now: float) -> None:
        if worker.life.end_asked_for:
            blame = Blame.NOBODY
        worker.life, worker.blame, worker.why, worker.killed_at = Life.KILLED, blame, why, now
        self._reckon(worker)
        self._books.out.append(commands.Kill(worker.number))

    def _strike_head(self, worker: Worker, why: str, *, hang: bool, now: float) -> None:
        if worker.batch and len(worker.line) > 1:
            self.suspects.update(held.workqueue_id for held in worker.line)
        elif worker.line:
            self._books.strike(worker.line.popleft(), why, hang=hang, now=now)

    def _forget(self, worker: Worker) -> None:
        del self.workers[worker.number]
        del self.pools[worker.stage].workers[worker.number]

    def _empty(self, worker: Worker, now: float) -> None:
        while worker.line:
            held = worker.line.popleft()
            self._books.give_back(held, now, suspect=held.workqueue_id in self.suspects)

    def _drain(self, pool: Pool, now: float) -> None:
        for held in pool.unplaced():
            self._books.give_back(held, now)

    def _failed_start(self, worker: Worker, why: str, code: int | None, now: float) -> None:
        pool = self.pools[worker.stage]
        self._books.statistics.remember(worker.stage).failed_starts += 1
        if code == status.TEMP_FAIL:
            self.shortage.found(worker, now)
        elif worker.outgoing:
            # Of whether one that takes its place will, it says nothing.
            text = "worker {worker} of {stage}, which is replaced, did not get ready: {why}"
            self._note(Level.WARN, text, worker, why=why)
            return
        else:
            if code == status.BAD_CONFIG:
                why += ": its configuration or the schema is not what it expects"
            pause = pool.cooldown.trouble(now)
            text = "worker {worker} of {stage} did not get ready ({why}); no new one is started for {pause:g} s"
            self._note(Level.ERROR, text, worker, why=why, pause=pause)
        if not any(other.life is Life.READY for other in pool.workers.values()):
            self._drain(pool, now)

    # What they are to do

    def serves(self, stage: str) -> bool:
        """Whether ids of *stage* may be queued."""
        pool = self.pools.get(stage)
        return pool is not None and not pool.removed

    def renew(self) -> None:
        """Replace every worker: those that run now finish what they hold."""
        for pool in self.pools.values():
            pool.send_out()
        for worker in self.workers.values():
            self._reckon(worker)

    def reconfigure(self, specs: Mapping[str, StageSpec], now: float) -> None:
        """Go on with *specs*; what is in a worker's pipe is finished by the former ones.

        What waits for a worker of a stage that is gone goes back.
        """
        self.renew()
        for name in [name for name in self.pools if name not in specs]:
            self.pools[name].removed = True
            self._drain(self.pools[name], now)
            self._forget_stage(name)
        for name, spec in specs.items():
            if name in self.pools:
                self.pools[name].change(spec)
            else:
                self.pools[name] = self._pool(spec)
        self._names.update(specs)
        self.shortage.set_limits()

    def _forget_stage(self, name: str) -> None:
        if self.pools[name].removed and not self.pools[name].workers:
            del self.pools[name]

    # Who works

    def queue(self, held: Held) -> None:
        """Let a claimed id wait for a slot."""
        # Whatever kills the dispatcher again and again may be the message: alone it takes no others with it.
        held.alone = held.strikes > 0 or held.interrupted > MOST_INTERRUPTED or held.workqueue_id in self.suspects
        self.pools[held.stage].queue(held)

    def place(self, now: float) -> None:
        """Hand waiting ids to workers, and start workers for them."""
        for pool in self.pools.values():
            if not pool.has_waiting:
                continue
            handed: dict[int, list[int]] = {}
            for held, worker in pool.placements(now):
                if worker is None:
                    self._start(pool, now)
                    continue
                worker.line.append(held)
                worker.quota -= 1
                if len(worker.line) == 1:
                    worker.head_since = now
                    self._reckon(worker)
                held.place = Place.WORKER
                handed.setdefault(worker.number, []).append(held.workqueue_id)
            for number, ids in handed.items():
                self._books.out.append(commands.Hand(number, tuple(ids)))

    def pauses_over(self, now: float) -> bool:
        """Whether some stage may be worked for again since this was asked last."""
        untold = [pause for pool in self.pools.values() for pause in pool.untold]
        return sum(pause.just_over(now) for pause in untold) > 0

    def dismiss(self, now: float) -> None:
        """Let go who is idle for too long, has done enough or is to be replaced."""
        if now < self._soonest:
            return
        for worker in self.workers.values():
            if worker.is_idle and now >= worker.due:
                worker.life = Life.RETIRING
                self._reckon(worker)
                self._books.out.append(commands.Retire(worker.number))

    def watch(self, now: float) -> None:
        """Kill who hangs."""
        if now < self._soonest:
            return
        for worker in list(self.workers.values()):
            if now < worker.due or worker.is_idle:
                continue
            if worker.life is Life.KILLED:
                worker.alarmed = True
                text = "worker {worker} of {stage} cannot be killed; its messages stay with it: {ids}"
                self._note(Level.ERROR, text, worker, ids=[held.workqueue_id for held in worker.line])
                self._reckon(worker)
            else:
                self._hangs(worker, now)

    def shift(self, seconds: float) -> None:
        """This process stood still for *seconds*: nobody's deadline runs out by that."""
        for worker in self.workers.values():
            worker.since += seconds
            worker.head_since += seconds
            self._reckon(worker)

    def next_time(self) -> float:
        """Return when ``watch``, ``place`` or ``dismiss`` has something to do, infinity if never."""
        self._soonest = min([worker.due for worker in self.workers.values()], default=float("inf"))
        pauses = [pause.until for pool in self.pools.values() for pause in pool.untold]
        return min(self._soonest, self.shortage.next_time(), *pauses)

    def _reckon(self, worker: Worker) -> None:
        """Something about *worker* has changed that tells when it is to be looked at."""
        due = worker.reckon(self._idle_timeout, UNKILLABLE)
        self._soonest = min(self._soonest, due)

    def _start(self, pool: Pool, now: float) -> None:
        self._last += 1
        quota = int(pool.spec.max_messages * (1 + JITTER * self._books.chance()))
        worker = Worker(self._last, pool.spec.name, since=now, quota=quota, max_runtime=pool.spec.max_runtime)
        self.workers[worker.number] = pool.workers[worker.number] = worker
        self._reckon(worker)
        self._books.statistics.remember(pool.spec.name).workers_started += 1
        self._books.out.append(commands.Start(worker=worker.number, stage=pool.spec.name))

    def _hangs(self, worker: Worker, now: float) -> None:
        if not worker.was_ready:
            self._kill(worker, Blame.START, f"it was not ready within {worker.max_runtime:g} s", now)
            return
        why = f"no answer within {worker.max_runtime:g} s"
        text = "worker {worker} of {stage} hangs with message {workqueue_id} ({why}) and is killed"
        self._note(Level.WARN, text, worker, workqueue_id=worker.line[0].workqueue_id, why=why)
        self._kill(worker, Blame.HANG, why, now)

    def _note(self, level: Level, text: str, worker: Worker, **facts: Any) -> None:
        self._books.note(level, text, worker=worker.number, stage=worker.stage, **facts)
