"""A small world around the engine: a queue, workers and a database that can fail, all in plain Python.

Nothing happens by itself. Commands leave reports behind, which the test delivers in any order it likes; faults are
methods. The world keeps books of its own, and checks after each step what must always hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pepsi.model import status
from pepsi.model.row import STRIKES
from pepsi.model.stage import StageSpec
from pepsi.model.status import Status
from pepsi.sched import commands, events
from pepsi.sched.commands import Command
from pepsi.sched.engine import Engine
from pepsi.sched.events import Event, Wake
from pepsi.sched.settings import Settings
from tests.unit.sched import invariants
from tests.unit.sched.child import Child
from tests.unit.sched.table import Key, Row, Table

EPOCH = 7
SPECS = {
    "a": StageSpec(name="a", program="a", next_stage="b", parallelism=2, queue_limit=3, max_runtime=20.0),
    "b": StageSpec(name="b", program="b", parallelism=3, queue_limit=2, max_runtime=20.0, max_messages=5),
}
C = TypeVar("C", bound=Command)


def one_stage(name: str = "a", **values: Any) -> dict[str, StageSpec]:
    """The specs of a pipeline of a single stage."""
    return {name: StageSpec(name=name, program=name, **values)}


class World:
    def __init__(self, specs: dict[str, StageSpec] | None = None, **settings: Any) -> None:
        self.now = 1000.0
        self.specs = SPECS if specs is None else specs
        self.engine = Engine(Settings(**{"fair": False} | settings), self.specs, EPOCH, self.now, lambda: 0.5)
        self.table = Table()
        self.children: dict[int, Child] = {}
        self.graves: dict[int, Child] = {}  # children that have died, and the engine does not know it yet
        self.reports: list[Event] = []
        self.log: list[Command] = []
        self.exit: commands.Exit | None = None
        self.done: dict[int, int] = {}
        self.locked = False
        self.stopping = self.reconfigured = False
        self.outage = False  # the database is away
        self.faults: dict[str, list[str]] = {}
        """What becomes of the next statements of a kind: done, but nobody hears of it; undone; refused (a settle)."""
        self.suspects: set[int] = set()  # ids that gave a reason to be struck
        self.lonely: set[int] = set()  # ids of which one made a worker crash, and nobody knows which
        self.guilty: set[Key] = set()  # claims that must be struck: their worker crashed with them at its head
        self.struck: set[Key] = set()
        self.excused: set[Key] = set()  # claims whose row may run although nobody holds them: nobody can know
        self._unknown: set[int] = set()

    # the engine

    def tell(self, *happened: Event) -> list[Command]:
        for event in happened:
            self._note(event)
        out = self.engine.handle(happened, self.now)
        self.log += out
        for command in out:
            self.obey(command)
        self.check()
        return out

    def wanted(self, kind: type[C]) -> list[C]:
        """All commands of one kind that the engine has given so far."""
        return [command for command in self.log if isinstance(command, kind)]

    @property
    def room_asked_for(self) -> list[dict[str, int]]:
        """What each claim so far was for: capacities by stage."""
        return [{want.stage: want.capacity for want in claim.wants} for claim in self.wanted(commands.Claim)]

    @property
    def notes(self) -> list[str]:
        """What the engine had to say, filled in."""
        return [note.text.format(**note.facts) for note in self.wanted(commands.Note)]

    @property
    def looked(self) -> int:
        """The number of the last look at running rows."""
        return max((command.look for command in self.wanted(commands.AskRunning)), default=0)

    @property
    def flushed(self) -> list[commands.Flush]:
        return self.wanted(commands.Flush)

    def obey(self, command: Command) -> None:
        match command:
            case commands.Claim(wants=wants):
                assert self.locked and not self.stopping, "claims without the lock, or after the stop"
                self.table.look(wants, self.now)
                invariants.a_claim_fits(wants, self.engine.holdings(), self.specs, self.children | self.graves)
                self.claim(command)
            case commands.Start(worker=number, stage=stage):
                assert self.locked and not self.stopping, "starts a worker that it must not feed"
                if self.fault("start") == "ok":
                    self.children[number] = Child(self.specs[stage])
                else:
                    self.graves[number] = Child(self.specs[stage])
                    self.reports.append(events.WorkerNotStarted(number, "no such program"))
            case commands.Hand(number, ids):
                assert self.locked and not self.stopping, "hands out without the lock"
                child = self.child(number)
                assert not child.asked and not child.doomed, "hands to a worker that is to go"
                if not child.head:
                    child.head_since = self.now
                child.line += ids
                invariants.each_is_alone_that_must_be(child, self.rows, self.lonely)
            case commands.Retire(number):
                assert not self.child(number).line
                self.child(number).asked = True
            case commands.Stop(number):
                self.child(number).asked = True
            case commands.Kill(number):
                child = self.child(number)
                assert not child.doomed, "kills twice"
                child.doomed = True
                if child.heard_ready and self.now >= child.head_since + child.spec.max_runtime:
                    self.suspects.update(child.head)
            case commands.Settle(writes):
                self.settle(writes)
            case commands.AskDue():
                due_in = events.DueIn(self.table.next_due(self.now))
                self.reports.append(due_in if self.fault("due") == "ok" else events.DueFailed())
            case commands.FlipDue(limit):
                fault = self.fault("due")
                ids = () if fault == "undone" else self.table.flip_due(limit, self.now)
                self.reports.append(events.Flipped(ids) if fault == "ok" else events.DueFailed())
            case commands.AskRunning(look):
                if self.fault("running") == "ok":
                    self.reports.append(events.RunningRows(look=look, rows=self.running()))
            case commands.Flush():
                self.reports.append(events.Flushed() if self.fault("flush") == "ok" else events.FlushFailed())
            case commands.Sweep():
                self.reports.append(events.Swept(more=self.fault("sweep") != "ok"))
            case commands.Note(text=text, facts=facts):
                text.format(**facts)
            case commands.Exit():
                assert self.exit is None
                self.exit = command

    def child(self, number: int) -> Child:
        """A worker that has died, or never lived, is spoken to until the engine knows; nothing comes of it."""
        return self.children[number] if number in self.children else self.graves[number]

    def fault(self, what: str) -> str:
        """What becomes of this one statement: ok, done, undone or refused."""
        if self.outage:
            return "undone"
        return self.faults[what].pop(0) if self.faults.get(what) else "ok"

    def _note(self, event: Event) -> None:
        """Keep in mind what the engine learns by *event*."""
        match event:
            case events.LockHeld():
                self.locked = True
            case events.LockLost() | events.Fenced():
                self.locked = False
            case events.StopRequested():
                self.stopping = True
            case events.WorkerReady(number, batch):
                child = self.child(number)
                child.heard_ready, child.batch, child.head_since = True, batch, self.now
            case events.Answered(number, statuses):
                child = self.child(number)
                if not child.doomed:
                    self.lonely.difference_update(child.unheard[: len(statuses)])
                    del child.unheard[: len(statuses)]
                    child.head_since, child.heard_answer = self.now, True
            case events.Garbled(number):
                if self.child(number).heard_ready and not self.child(number).anyones_guess:
                    self.suspects.update(self.child(number).head)
            case events.WorkerNotStarted(number):
                del self.graves[number]
            case events.WorkerGone(worker=number, code=code):
                self._gone(self.graves.pop(number), code)

    def _gone(self, child: Child, code: int | None) -> None:
        never_worked = not child.heard_ready or (code == status.BAD_CONFIG and not child.heard_answer)
        if not child.head or child.asked or child.doomed or never_worked:
            return
        if child.anyones_guess:
            held = [held.workqueue_id for held in self.engine.holdings()]
            self.lonely.update(number for number in child.pipe if held.count(number) == 1)
        else:
            self.suspects.update(child.head)
            self.guilty.add(next(held.key for held in self.engine.holdings() if held.workqueue_id == child.head[0]))

    # the database

    @property
    def rows(self) -> dict[int, Row]:
        return self.table.rows

    def inject(self, stage: str = "a", count: int = 1, sender: str = "") -> int:
        """Put messages in, without a word to the engine; return the id of the last."""
        return self.table.insert(stage, count, sender)

    def running(self) -> tuple[events.RunningRow, ...]:
        # Nobody looks between a claim that was lost on its way back and the next LockHeld.
        return tuple(row for row in self.table.running() if row.claim not in self._unknown)

    def claim(self, command: commands.Claim) -> None:
        fault = self.fault("claim")
        rows, windows = ((), ()) if fault == "undone" else self.table.claim(command)
        if fault == "ok":
            self.reports.append(events.Claimed(token=command.token, rows=rows, windows=windows))
        else:
            self._unknown.add(command.token)
            self.reports += [events.ClaimFailed(), events.LockLost()]

    def settle(self, writes: tuple[commands.Settlement, ...]) -> None:
        fault = self.fault("settle")
        for write in writes:
            key = write.workqueue_id, write.claim
            if STRIKES in write.patch and key not in self.struck:
                assert write.workqueue_id in self.suspects, f"{write.workqueue_id} is struck for nothing"
                self.suspects.discard(write.workqueue_id)
                self.struck.add(key)
        if fault == "refused" and len(writes) == 1:
            self.excused.add((writes[0].workqueue_id, writes[0].claim))
        locked = self.table.settle_unlocked(writes, self.now) if fault in ("ok", "done") else ()
        failed = events.SettleFailed("no database", refused=fault == "refused")
        self.reports.append(events.Settled(locked) if fault == "ok" else failed)

    def regain_lock(self) -> None:
        """What leadership does after a reconnect. What was under way when the lock was lost is known by then."""
        early = events.ClaimFailed | events.Claimed | events.LockLost | events.Settled | events.Answered
        while known := [report for report in self.reports if isinstance(report, early)]:
            self.reports.remove(known[0])
            self.tell(known[0])
        self.excused &= self.table.reconcile(self.engine.holdings())
        self._unknown.clear()
        self.tell(events.LockHeld())

    # the workers

    def ready(self, number: int, *, batch: bool = False) -> None:
        child = self.children[number]
        if child.life == "starting" and not child.garbled:
            child.life = "ready"
            self.reports.append(events.WorkerReady(number, batch))

    def answer(self, number: int, code: int = 0, *, count: int = 1, commit: bool = True, **more: Any) -> None:
        """The worker does the oldest ids of its line and answers them at once; *more* is of the status."""
        child = self.children[number]
        ids = child.line[:count]
        if child.life != "ready" or child.garbled or not ids:
            return
        del child.line[: len(ids)]
        child.unheard += ids
        for workqueue_id in ids if code == 0 else ():
            self._work(workqueue_id, child.spec, commit)
        self.reports.append(events.Answered(number, (Status(code=code, **more),) * len(ids)))

    def _work(self, workqueue_id: int, spec: StageSpec, commit: bool) -> None:
        row = self.rows.get(workqueue_id)
        if row is None or row.claim is None or row.stage != spec.name:
            return
        if not commit:
            self.excused.add((workqueue_id, row.claim))
            self.suspects.add(workqueue_id)
            return
        following = spec.next_stage
        self.table.advance(workqueue_id, following)
        if following is None:
            self.done[workqueue_id] = self.done.get(workqueue_id, 0) + 1

    def garble(self, number: int) -> None:
        """The worker writes nonsense; from then on nobody listens to it."""
        self.children[number].garbled = True
        self.reports.append(events.Garbled(number, "nonsense"))

    def die(self, number: int, *, code: int | None = None, signal: int | None = None) -> None:
        self.graves[number] = self.children.pop(number)
        self.reports.append(events.WorkerGone(worker=number, code=code, signal=signal))

    # what happens by itself when nobody interferes

    def start(self) -> None:
        """The lock is held, and the first claim has brought nothing."""
        self.tell(events.LockHeld())
        self.run()

    def wake(self) -> None:
        self.tell(events.Woken(Wake.NOTIFIED))

    def deliver(self, which: int = 0) -> None:
        if self.reports:
            # Reports of one worker come in the order in which they happened.
            report = self.reports[which % len(self.reports)]
            number = getattr(report, "worker", None)
            if number is not None:
                report = next(r for r in self.reports if getattr(r, "worker", None) == number)
            self.reports.remove(report)
            self.tell(report)

    def run(self) -> None:
        """Deliver every report, and those that follow from it. No time passes."""
        for _ in range(5000):
            if not self.reports:
                return
            self.deliver()
        raise AssertionError("one thing leads to another for ever")

    def bring(self, stage: str = "a", count: int = 1) -> int:
        """Put messages in and let them be claimed and handed out; return the id of the last."""
        last = self.inject(stage, count)
        self.wake()
        self.run()
        return last

    def employ(self, stage: str = "a", count: int = 1) -> int:
        """Bring messages to a new worker that is ready; return the worker's number."""
        before = set(self.children)
        self.bring(stage, count)
        (number,) = set(self.children) - before
        self.ready(number)
        self.run()
        return number

    def tend(self) -> int:
        """Let workers that are to go be gone and those that start be ready; return the number of the last one."""
        for number, child in list(self.children.items()):
            if child.doomed or (child.asked and not child.line):
                self.die(number, code=0)
            elif child.life == "starting":
                self.ready(number)
        self.run()
        return max(self.children)

    def wait(self, seconds: float) -> None:
        """Let time pass, ticking when the engine asks for it, and deliver what comes of it."""
        until, sleepless = self.now + seconds, 0
        while self.now < until:
            sleepless = 0 if self.engine.next_wake > self.now else sleepless + 1
            assert sleepless < 20, "the engine does not sleep"
            self.now = min(until, self.engine.next_wake)
            self.tell(events.Tick())
            self.run()

    def wait_for(self, condition: Callable[[], object], seconds: float = 1000.0) -> None:
        """Wait until *condition* holds, half a second at a time."""
        until = self.now + seconds
        while not condition():
            assert self.now < until, "it did not come about"
            self.wait(0.5)

    def settle_down(self, limit: int = 2000) -> None:
        """Mend every fault, and let things take their course until nothing is left to do."""
        self.outage = False
        self.faults.clear()
        self.table.locks.clear()
        self.regain_lock()
        for _ in range(limit):
            if self.reports:
                self.deliver()
                continue
            busy = False
            for number, child in list(self.children.items()):
                if child.doomed or child.garbled or (child.asked and (self.stopping or not child.line)):
                    self.die(number, code=0)
                elif child.life == "starting":
                    self.ready(number)
                elif child.line:
                    self.answer(number)
                else:
                    continue
                busy = True
            if busy or self.reports:
                continue
            if self.exit is not None or not self.restless:
                return
            self.now = max(self.now + 0.001, self.engine.next_wake)
            self.tell(events.Tick())
        raise AssertionError("the world does not come to rest")

    @property
    def restless(self) -> bool:
        moving = any(not row.status.is_final and row.stage in self.specs for row in self.rows.values())
        return self.stopping or moving or bool(self.reports or self.children)

    def check(self) -> None:
        """What must hold after every step."""
        holdings = self.engine.holdings()
        invariants.what_is_charged_is_held(self.engine, holdings)
        invariants.nobody_has_too_much(self.children.values(), self.specs)
        invariants.no_more_is_held_than_may_be(holdings, {} if self.reconfigured else self.specs)
        accounted_for = {held.key for held in holdings} | invariants.under_way(self.reports) | self.excused
        invariants.no_row_is_lost(self.table, accounted_for, self._unknown)
