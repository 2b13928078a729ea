"""A small world around the engine: a queue, workers and a database that can fail, all in plain Python.

Nothing happens by itself. Commands leave reports behind, which the test delivers in any order it likes; faults are
methods. The world keeps the books that the invariants are checked against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pepsi.model.row import RowStatus
from pepsi.model.stage import StageSpec
from pepsi.model.status import Status
from pepsi.sched import commands, events
from pepsi.sched.commands import Command
from pepsi.sched.engine import Engine, Settings
from pepsi.sched.events import Event, Wake

SPECS = {
    "a": StageSpec(name="a", program="a", next_stage="b", parallelism=2, queue_limit=3, max_runtime=20.0),
    "b": StageSpec(name="b", program="b", parallelism=3, queue_limit=2, max_runtime=20.0, max_messages=5),
}


@dataclass
class Row:
    stage: str
    status: RowStatus = RowStatus.PENDING
    claim: int | None = None
    strikes: int = 0
    due: float | None = None


@dataclass
class Child:
    stage: str
    life: str = "starting"
    line: list[int] = field(default_factory=list)
    doomed: bool = False
    asked: bool = False


class World:
    def __init__(self, specs: dict[str, StageSpec] | None = None, **settings: float) -> None:
        self.now = 1000.0
        self.specs = SPECS if specs is None else specs
        self.engine = Engine(Settings(**settings), self.specs, epoch=7, now=self.now, chance=lambda: 0.5)  # type: ignore[arg-type]
        self.rows: dict[int, Row] = {}
        self.children: dict[int, Child] = {}
        self.reports: list[Event] = []
        self.notes: list[commands.Note] = []
        self.exit: commands.Exit | None = None
        self.done: dict[int, int] = {}
        self.executions: dict[int, int] = {}
        self.last_id = 0
        self.claim_fault: Callable[[], str] = lambda: "ok"
        self.settle_fault: Callable[[], str] = lambda: "ok"
        self.flushed: list[commands.Flush] = []

    # the engine

    def tell(self, *happened: Event) -> list[Command]:
        out = self.engine.handle(happened, self.now)
        for command in out:
            self.obey(command)
        self.check()
        return out

    def obey(self, command: Command) -> None:
        match command:
            case commands.Claim(token=token, capacities=capacities):
                self.claim(token, dict(capacities))
            case commands.Start(worker=number, stage=stage):
                self.children[number] = Child(stage)
            case commands.Hand(number, ids):
                self.child(number).line += ids
            case commands.Retire(number):
                assert not self.child(number).line
                self.child(number).asked = True
            case commands.Stop(number):
                self.child(number).asked = True
            case commands.Kill(number):
                self.child(number).doomed = True
            case commands.Settle(writes):
                self.settle(writes)
            case commands.AskDue():
                dues = [row.due for row in self.rows.values() if row.due is not None]
                self.reports.append(events.DueIn(min(dues) - self.now if dues else None))
            case commands.FlipDue(limit):
                due = [row for row in self.rows.values() if row.due is not None and row.due <= self.now][:limit]
                for row in due:
                    row.status, row.due = RowStatus.PENDING, None
                self.reports.append(events.Flipped(len(due)))
            case commands.AskRunning():
                self.reports.append(
                    events.RunningRows(
                        tuple(
                            events.RunningRow(workqueue_id=i, claim=r.claim, stage=r.stage, strikes=r.strikes)
                            for i, r in self.rows.items()
                            if r.claim is not None
                        )
                    )
                )
            case commands.Flush():
                self.flushed.append(command)
                self.reports.append(events.Flushed())
            case commands.Note():
                command.text.format(**command.facts)
                self.notes.append(command)
            case commands.Exit():
                assert self.exit is None
                self.exit = command

    def child(self, number: int) -> Child:
        """A worker that has died but not been reported is still spoken to; nothing comes of it."""
        return self.children.get(number) or Child("dead")

    # the database

    def inject(self, stage: str = "a") -> int:
        self.last_id += 1
        self.rows[self.last_id] = Row(stage)
        return self.last_id

    def claim(self, token: int, capacities: dict[str, int]) -> None:
        fault = self.claim_fault()
        got = []
        if fault != "undone":
            for workqueue_id, row in sorted(self.rows.items()):
                if row.status is RowStatus.PENDING and capacities.get(row.stage, 0) > 0:
                    capacities[row.stage] -= 1
                    row.status, row.claim = RowStatus.RUNNING, token
                    got.append(events.ClaimedRow(workqueue_id=workqueue_id, stage=row.stage, strikes=row.strikes))
        if fault == "ok":
            self.reports.append(events.Claimed(token=token, rows=tuple(got)))
        else:
            self.reports += [events.ClaimFailed(), events.LockLost()]

    def settle(self, writes: Iterable[commands.Settlement]) -> None:
        fault = self.settle_fault()
        if fault != "undone":
            for write in writes:
                row = self.rows.get(write.workqueue_id)
                if row is not None and row.claim == write.claim:
                    row.status, row.claim = write.status, None
                    row.due = None if write.delay is None else self.now + write.delay
                    row.strikes = int(write.patch.get("strikes", row.strikes))
        self.reports.append(events.Settled() if fault == "ok" else events.SettleFailed("no database"))

    def regain_lock(self) -> None:
        """What leadership does after a reconnect: the loss, and the claim that was lost with it, are known by then."""
        for report in [r for r in self.reports if isinstance(r, events.ClaimFailed | events.Claimed | events.LockLost)]:
            self.reports.remove(report)
            self.tell(report)
        held = self.engine.holdings()
        for workqueue_id, token, stage in held:
            row = self.rows.get(workqueue_id)
            if row is not None and row.status is RowStatus.PENDING and row.stage == stage:
                row.status, row.claim = RowStatus.RUNNING, token
        keys = {(workqueue_id, token) for workqueue_id, token, _ in held}
        for workqueue_id, row in self.rows.items():
            if row.claim is not None and (workqueue_id, row.claim) not in keys:
                row.status, row.claim = RowStatus.PENDING, None
        self.tell(events.LockHeld())

    # the workers

    def ready(self, number: int) -> None:
        child = self.children[number]
        if child.life == "starting":
            child.life = "ready"
            self.reports.append(events.WorkerReady(number))

    def answer(self, number: int, code: int = 0, *, commit: bool = True) -> None:
        """The worker does the oldest id of its line and answers it."""
        child = self.children[number]
        if child.life != "ready" or not child.line:
            return
        workqueue_id = child.line.pop(0)
        self.executions[workqueue_id] = self.executions.get(workqueue_id, 0) + 1
        row = self.rows.get(workqueue_id)
        if code == 0 and commit and row is not None and row.claim is not None:
            row.claim = None
            following = self.specs[row.stage].next_stage
            if following is None:
                del self.rows[workqueue_id]
                self.done[workqueue_id] = self.done.get(workqueue_id, 0) + 1
            else:
                row.stage, row.status, row.strikes = following, RowStatus.PENDING, 0
        self.reports.append(events.Answered(number, (Status(code=code),)))

    def die(self, number: int, *, code: int | None = None, signal: int | None = None) -> None:
        del self.children[number]
        self.reports.append(events.WorkerGone(worker=number, code=code, signal=signal))

    # what happens by itself when nobody interferes

    def deliver(self, which: int = 0) -> None:
        if self.reports:
            # Reports of one worker come in the order in which they happened.
            report = self.reports[which % len(self.reports)]
            number = getattr(report, "worker", None)
            if number is not None:
                report = next(r for r in self.reports if getattr(r, "worker", None) == number)
            self.reports.remove(report)
            self.tell(report)

    def settle_down(self, limit: int = 5000) -> None:
        """Mend every fault, and let things take their course until nothing is left to do."""
        self.claim_fault = self.settle_fault = lambda: "ok"
        self.regain_lock()
        for _ in range(limit):
            if self.reports:
                self.deliver()
                continue
            busy = False
            for number, child in list(self.children.items()):
                if child.doomed or (child.asked and not child.line) or (child.asked and self.engine_stops):
                    self.die(number, code=0, signal=None)
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
            self.now = max(self.now + 0.001, self.engine.next_wake(self.now))
            self.tell(events.Tick())
        raise AssertionError("the world does not come to rest")

    engine_stops = False

    @property
    def restless(self) -> bool:
        return bool(self.reports or self.children) or any(
            row.status in (RowStatus.PENDING, RowStatus.RUNNING) or row.due is not None for row in self.rows.values()
        )

    def start(self) -> None:
        self.tell(events.LockHeld())

    def wake(self) -> None:
        self.tell(events.Woken(Wake.NOTIFIED))

    # what must always hold

    def check(self) -> None:
        at_work: list[int] = [workqueue_id for child in self.children.values() for workqueue_id in child.line]
        assert len(at_work) == len(set(at_work)), f"in two places: {sorted(at_work)}"
        held = {}
        for workqueue_id, token, stage in self.engine.holdings():
            assert (workqueue_id, token) not in held
            held[workqueue_id, token] = stage
        for stage, spec in self.specs.items():
            in_flight = sum(s == stage for s in held.values())
            assert in_flight <= spec.capacity, f"{in_flight} in flight at {stage}"
            alive = sum(child.stage == stage for child in self.children.values())
            assert alive <= spec.parallelism, f"{alive} workers of {stage}"
        for child in self.children.values():
            assert len(child.line) <= self.specs[child.stage].queue_limit
