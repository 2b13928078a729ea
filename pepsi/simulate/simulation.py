"""Plays arrivals against the real engine under a virtual clock: a heap of what is to happen, and one inbox.

What the dispatcher does at once takes one turn; all that happens until the turn is over is taken in with it, as in the
real one. Statements take a round trip. Workers work on one message after the other, or on all that they hold.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pepsi.model import status
from pepsi.model.stage import StageSpec
from pepsi.model.status import Status
from pepsi.sched import commands, events
from pepsi.sched.commands import Command
from pepsi.sched.engine import Engine
from pepsi.sched.events import Event, Wake
from pepsi.sched.settings import Settings
from pepsi.simulate.arrival import Arrival
from pepsi.simulate.child import Child
from pepsi.simulate.distribution import Chance
from pepsi.simulate.letter import Letter
from pepsi.simulate.model import Model, StageModel
from pepsi.simulate.records import Outcome, Records
from pepsi.simulate.table import Table

EPOCH = 1
REFUSED = 65
"""What a worker answers that refuses a message (EX_DATAERR)."""
TURNS_BETWEEN = 2000
"""Turns of the dispatcher between two looks of whoever watches."""

_DONE = (Status(code=status.OK),)
_FOREVER = float("inf")
_WOKEN = events.Woken(Wake.NOTIFIED)


class Simulation:
    """One run. *arrivals* come in the order of their times; *group* names the class of a sender whose arrival has none.

    *chance* is all the chance there is: the same numbers make the same run.
    """

    def __init__(
        self,
        model: Model,
        settings: Settings,
        arrivals: Iterable[Arrival],
        group: Callable[[str], str],
        records: Records,
        chance: Chance,
    ) -> None:
        self.now = 0.0
        self.table = Table()
        self.letters: dict[int, Letter] = {}
        """Messages that are on their way."""
        self._model = model
        self._records = records
        self._group = group
        self._chance = chance
        specs: Mapping[str, StageSpec] = {name: stage.spec for name, stage in model.stages.items()}
        self.engine = Engine(settings, specs, EPOCH, self.now, chance)
        self._samplers = {name: stage.service.sampler(chance) for name, stage in model.stages.items()}
        self._arrivals = iter(arrivals)
        self._arrival = next(self._arrivals, None)
        self._heap: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._count = 0
        self._inbox: list[Event] = []
        self._woken = False
        self._turn_at = _FOREVER
        self._children: dict[int, Child] = {}
        self._obeyed: Mapping[type[Command], Callable[[Any], None]] = {
            commands.Claim: lambda command: self._later(model.costs.claim, self._claimed, command),
            commands.Settle: lambda command: self._later(model.costs.claim, self._settled, command),
            commands.AskDue: lambda command: self._later(model.costs.claim, self._asked_due, command),
            commands.FlipDue: lambda command: self._later(model.costs.claim, self._flipped, command),
            commands.AskRunning: lambda command: self._later(model.costs.claim, self._asked_running, command),
            commands.Flush: lambda _: self._later(model.costs.claim, self._post, events.Flushed()),
            commands.Sweep: lambda _: self._later(model.costs.claim, self._post, events.Swept(more=False)),
            commands.Inspect: lambda _: None,  # nobody else is at the database, so there is nothing to tell
            commands.Hand: self._hand,
            commands.Start: self._start,
            commands.Retire: self._retire,
            commands.Stop: self._stop,
            commands.Kill: self._kill,
            commands.Note: records.noted,
        }

    def play(self) -> Iterator[float]:
        """Run until all that came in has gone; yield the virtual time now and then, for whoever watches."""
        self._post(events.LockHeld())
        self._later(self._records.window, self._close_window, None)
        turns = 0
        while self._arrival is not None or self.letters or self.now == 0.0:
            self._proceed()
            turns += 1
            if turns % TURNS_BETWEEN == 0:
                yield self.now
        for child in self._children.values():
            self._records.left_over(child, self.now)

    def _proceed(self) -> None:
        """Let things happen until the dispatcher has had its next turn."""
        heap = self._heap
        while True:
            turn = self._turn_at if self._inbox else max(self.engine.next_wake, self.now)
            coming = self._arrival.time if self._arrival is not None else _FOREVER
            due = heap[0][0] if heap else _FOREVER
            if coming <= due and coming <= turn:
                self.now = coming
                self._arrive()
            elif due <= turn:
                self.now, _, action, what = heapq.heappop(heap)
                action(what)
            else:
                break
        self.now = turn
        happened, self._inbox, self._woken = self._inbox or [events.Tick()], [], False
        for command in self.engine.handle(happened, turn):
            self._obeyed[type(command)](command)

    def _later(self, seconds: float, action: Callable[[Any], None], what: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (self.now + seconds, self._count, action, what))

    def _post(self, event: Event) -> None:
        if not self._inbox:
            self._turn_at = self.now + self._model.costs.turn
        self._inbox.append(event)

    # mail

    def _arrive(self) -> None:
        arrival = self._arrival
        assert arrival is not None
        self._arrival = next(self._arrivals, None)
        stage = arrival.stage or self._model.entry
        before = len(self.table.waiting(stage))
        number = self.table.insert(stage, 1, arrival.sender)
        group = arrival.group or self._group(arrival.sender)
        letter = Letter(number, arrival.sender, group, self.now, self.now, before, arrival.service)
        self.letters[number] = letter
        self._records.arrived(letter)
        if not self._woken:
            self._woken = True
            self._post(_WOKEN)

    def _move_on(self, letter: Letter, stage: StageModel) -> None:
        following = stage.ways[0][0] if len(stage.ways) == 1 else self._way(stage)
        if following is None:
            self._end(letter, Outcome.DONE)
            return
        letter.since, letter.service = self.now, None
        letter.before = len(self.table.waiting(following))
        self.table.advance(letter.number, following)

    def _way(self, stage: StageModel) -> str | None:
        point = self._chance() * sum(share for _, share in stage.ways)
        for following, share in stage.ways:
            point -= share
            if point < 0:
                return following
        return stage.ways[-1][0]

    def _end(self, letter: Letter, outcome: Outcome) -> None:
        self.table.delete(letter.number)
        del self.letters[letter.number]
        self._records.ended(letter, outcome, self.now)

    # the database

    def _claimed(self, command: commands.Claim) -> None:
        rows, windows = self.table.claim(command)
        self._records.claimed(len(rows))
        self._post(events.Claimed(token=command.token, rows=rows, windows=windows))

    def _settled(self, command: commands.Settle) -> None:
        self.table.settle(command.settlements, self.now)
        for write in command.settlements:
            if write.status.is_final:
                self._end(self.letters[write.workqueue_id], Outcome.FAILED)
        self._post(events.Settled())

    def _asked_due(self, _: commands.AskDue) -> None:
        self._post(events.DueIn(self.table.next_due(self.now)))

    def _flipped(self, command: commands.FlipDue) -> None:
        self._post(events.Flipped(self.table.flip_due(command.limit, self.now)))

    def _asked_running(self, command: commands.AskRunning) -> None:
        self._post(events.RunningRows(look=command.look, rows=self.table.running()))

    def _close_window(self, _: None) -> None:
        self._records.close_window(self.table)
        self._later(self._records.window, self._close_window, None)

    # the workers

    def _start(self, command: commands.Start) -> None:
        child = Child(command.worker, self._model.stages[command.stage], self.now)
        most = self._model.connections
        refused = most is not None and len(self._children) >= most
        self._children[child.number] = child
        self._records.worker_started(child, len(self._children))
        self._later(self._model.costs.start, self._refused if refused else self._ready, child)

    def _ready(self, child: Child) -> None:
        if child.dead:
            return
        child.ready = True
        self._post(events.WorkerReady(child.number, batch=child.stage.batch is not None))
        self._work(child)

    def _refused(self, child: Child) -> None:
        if not child.dead:
            child.dead = True
            self._gone((child, status.TEMP_FAIL))

    def _hand(self, command: commands.Hand) -> None:
        child = self._children.get(command.worker)
        if child is not None and not child.dead:
            child.line.extend(command.ids)
            if child.ready and not child.busy:
                self._work(child)

    def _retire(self, command: commands.Retire) -> None:
        self._ask(command.worker, stopped=False)

    def _stop(self, command: commands.Stop) -> None:
        self._ask(command.worker, stopped=True)

    def _ask(self, number: int, *, stopped: bool) -> None:
        child = self._children.get(number)
        if child is not None and not child.dead:
            child.asked, child.stopped = True, stopped
            if not child.busy:
                self._leave(child)

    def _kill(self, command: commands.Kill) -> None:
        child = self._children.get(command.worker)
        if child is not None and not child.dead:
            self._leave(child, signal=9)

    def _work(self, child: Child) -> None:
        """Begin with what is next in the line, if anything is."""
        if not child.line or child.stopped:
            child.busy = False
            if child.asked:
                self._leave(child)
            return
        child.busy = True
        stage = child.stage
        ids = (child.line[0],) if stage.batch is None else tuple(child.line)
        sample = self._samplers[stage.spec.name]
        total = stage.batch or 0.0
        answers: list[Status] = []
        for number in ids:
            letter = self.letters[number]
            self._records.started(letter, stage.spec.name, self.now)
            seconds = sample() if letter.service is None else letter.service
            total += seconds
            code = self._fate(stage) if stage.faults.total else 0
            if code is None:  # it hangs
                return
            if code < 0:
                self._later(total * self._chance(), self._crash, child)
                return
            answers.append(_DONE[0] if code == 0 else Status(code=code))
        self._later(total, self._answer, (child, _DONE if len(ids) == 1 and code == 0 else tuple(answers), total))

    def _fate(self, stage: StageModel) -> int | None:
        """What becomes of a message: its status; None, it hangs; below 0, it makes the worker crash."""
        point = self._chance()
        faults = stage.faults
        for likely, code in ((faults.fail, REFUSED), (faults.busy, status.TEMP_FAIL), (faults.crash, -1)):
            point -= likely
            if point < 0:
                return code
        return None if point < faults.hang else 0

    def _answer(self, what: tuple[Child, tuple[Status, ...], float]) -> None:
        child, answers, seconds = what
        if child.dead:
            return
        stage = child.stage
        each = seconds / len(answers)
        for answer in answers:
            letter = self.letters[child.line.popleft()]
            self._records.served(letter, stage.spec.name, each)
            if answer.code == 0:
                self._move_on(letter, stage)
        self._post(events.Answered(child.number, answers))
        self._work(child)

    def _crash(self, child: Child) -> None:
        if not child.dead:
            child.dead = True
            self._gone((child, None))

    def _leave(self, child: Child, signal: int | None = None) -> None:
        child.dead = True
        self._later(self._model.costs.end, self._gone, (child, 0 if signal is None else None))

    def _gone(self, what: tuple[Child, int | None]) -> None:
        child, code = what
        del self._children[child.number]
        self._records.worker_ended(child, self.now)
        signal = 9 if code is None else None
        self._post(events.WorkerGone(worker=child.number, code=code, signal=signal))
