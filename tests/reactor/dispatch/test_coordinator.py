"""Reactor callbacks become events, all of a turn at once; commands become calls; and a fault ends it all."""

from typing import Any, cast

import pytest
from twisted.internet import defer
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs

from pepsi.dispatch.coordinator import Coordinator
from pepsi.model.row import RowStatus
from pepsi.sched import commands
from pepsi.sched.commands import Command, Level
from pepsi.sched.events import Claimed, ClaimedRow, ClaimFailed, LockLost, Tick, WorkerReady
from pepsi.sched.meters import Meters
from pepsi.sched.statistics import Deltas
from tests.fakes_dispatch import RecordingClerk, RecordingFleet, ScriptedEngine, TurnClock


class Office:
    """A coordinator between a scripted engine and hands that only write down what they are told."""

    def __init__(self, clock: Clock, *turns: list[Command]) -> None:
        self.clock = clock
        self.engine = ScriptedEngine(*turns)
        self.clerk = RecordingClerk()
        self.fleet = RecordingFleet()
        self.exits: list[int] = []
        self.time = 500.0
        self.looks = 0
        self.meters = Meters()
        engine, clerk, fleet = cast(tuple[Any, Any, Any], (self.engine, self.clerk, self.fleet))
        self.coordinator = Coordinator(
            clock, lambda: self.time, engine, clerk, fleet, self.exits.append, watch=self._look, meters=self.meters
        )

    async def _look(self) -> None:
        self.looks += 1

    def turn(self) -> None:
        """Let the engine have a turn."""
        self.coordinator.post(Tick())
        self.clock.advance(0)


CLAIM = commands.Claim(token=5, fair=False, wants=(commands.Want(stage="a", capacity=4),))
SETTLE = commands.Settle((commands.Settlement(workqueue_id=1, claim=5, status=RowStatus.PENDING),))
FLUSH = commands.Flush(1, Deltas({}, 0, 0))


def test_what_is_posted_before_the_next_turn_is_handled_at_once(clock: Clock) -> None:
    office = Office(clock)
    office.coordinator.post(WorkerReady(1))
    office.coordinator.post(LockLost())
    assert not office.engine.heard
    clock.advance(0)
    assert office.engine.heard == [(500.0, [WorkerReady(1), LockLost()])]
    office.coordinator.post(WorkerReady(2))
    clock.advance(0)
    assert office.engine.heard[1:] == [(500.0, [WorkerReady(2)])]


@pytest.mark.parametrize(
    ("command", "call"),
    [
        (commands.Hand(1, (5, 6)), ("hand", 1, (5, 6))),
        (commands.Start(worker=2, stage="a"), ("start", 2, "a")),
        (commands.Retire(1), ("retire", 1)),
        (commands.Stop(1), ("stop", 1)),
        (commands.Kill(1), ("kill", 1)),
    ],
)
def test_what_concerns_workers_goes_to_the_fleet(clock: Clock, command: Command, call: tuple[Any, ...]) -> None:
    office = Office(clock, [command])
    office.turn()
    assert office.fleet.calls == [call]
    assert not office.clerk.calls


@pytest.mark.parametrize(
    ("command", "call"),
    [
        (CLAIM, CLAIM),
        (SETTLE, SETTLE),
        (FLUSH, FLUSH),
        (commands.Sweep(10), ("sweep", 10)),
        (commands.AskDue(), "ask_due"),
        (commands.AskRunning(3), ("ask_running", 3)),
        (commands.FlipDue(1000), ("flip_due", 1000)),
    ],
)
def test_what_concerns_the_database_goes_to_the_clerk(clock: Clock, command: Command, call: Any) -> None:
    office = Office(clock, [command])
    office.turn()
    assert office.clerk.calls == [call]
    assert not office.fleet.calls


def test_an_inspection_is_one_look_at_the_table(clock: Clock) -> None:
    office = Office(clock, [commands.Inspect()])
    office.turn()
    assert office.looks == 1


def test_claims_and_turns_are_measured(clock: Clock) -> None:
    office = Office(clock, [CLAIM])
    office.turn()
    office.time += 0.5
    rows = tuple(ClaimedRow(workqueue_id=number, stage="a") for number in (1, 2, 3))
    office.coordinator.post(Claimed(token=5, rows=rows))
    office.coordinator.post(ClaimFailed())
    clock.advance(0)
    meters = office.meters
    assert (meters.claim_seconds.sum, meters.claim_rows.sum, meters.claims_failed) == (0.5, 3.0, 1)
    assert [count for _, count in meters.turn_seconds.cumulated()][-1] == 2


def test_commands_are_carried_out_in_their_order(clock: Clock) -> None:
    office = Office(clock, [commands.Start(worker=1, stage="a"), commands.Hand(1, (5,)), commands.Kill(2)])
    office.turn()
    assert [call[0] for call in office.fleet.calls] == ["start", "hand", "kill"]


def test_a_note_goes_to_the_log_with_its_level_and_its_facts(clock: Clock) -> None:
    office = Office(clock, [commands.Note(Level.WARN, "message {workqueue_id} waits", {"workqueue_id": 5})])
    with capturedLogs() as logged:
        office.turn()
    (entry,) = logged
    assert entry["log_level"] is LogLevel.warn
    assert entry["log_format"] == "message {workqueue_id} waits"
    assert entry["workqueue_id"] == 5


def test_nobody_waits_for_the_database(clock: Clock) -> None:
    office = Office(clock, [CLAIM], [commands.Hand(1, (5,))])
    office.clerk.work = defer.Deferred()
    office.turn()
    office.turn()
    assert office.fleet.calls == [("hand", 1, (5,))]


# The alarm


def test_the_engine_is_woken_when_it_asked_to_be(clock: Clock) -> None:
    office = Office(clock)
    office.engine.wake_in = 10.0
    office.turn()
    clock.advance(9.9)
    assert len(office.engine.heard) == 1
    clock.pump([0.1, 0, 0])
    assert [events for _, events in office.engine.heard[1:]] == [[Tick()]]


def test_pipes_that_can_be_read_at_the_alarm_are_read_before_deadlines_are_judged() -> None:
    clock = TurnClock()
    office = Office(clock)
    office.engine.wake_in = 10.0
    office.coordinator.post(LockLost())
    clock.turn()
    clock.turn(10.0)
    office.coordinator.post(WorkerReady(1))
    assert len(office.engine.heard) == 1, "the reactor has read the pipes once since the alarm rang"
    clock.turn()
    assert office.engine.heard[1:] == [(500.0, [WorkerReady(1), Tick()])]


def test_there_is_one_alarm_which_may_ring_early_but_never_late(clock: Clock) -> None:
    office = Office(clock)
    office.engine.wake_in = 10.0
    office.turn()
    clock.advance(8.0)
    office.turn()
    clock.advance(8.0)
    assert len(office.engine.heard) == 3
    assert len(clock.getDelayedCalls()) == 1


def test_an_alarm_that_is_always_due_leaves_the_reactor_its_turns() -> None:
    clock = TurnClock()
    office = Office(clock)
    office.engine.wake_in = -1.0
    office.coordinator.post(Tick())
    for _ in range(9):
        clock.turn()
    assert len(office.engine.heard) == 3


# The end


def test_an_exit_is_told_once_and_leaves_no_timer(clock: Clock) -> None:
    office = Office(clock, [], [commands.Exit(0)])
    office.turn()
    office.turn()
    assert office.exits == [0]
    assert not clock.getDelayedCalls()
    office.turn()
    assert len(office.engine.heard) == 2


def test_the_status_is_the_engines(clock: Clock) -> None:
    office = Office(clock, [commands.Exit(1, (5, 6))])
    office.turn()
    assert office.exits == [1]


def test_a_fault_of_the_engine_kills_the_workers_and_ends_with_1(clock: Clock) -> None:
    office = Office(clock)
    office.engine.error = ZeroDivisionError("a fault of ours")
    with capturedLogs() as logged:
        office.turn()
    assert office.fleet.calls == [("kill_all",)]
    assert office.exits == [1]
    assert logged[0]["log_level"] is LogLevel.critical
    assert not clock.getDelayedCalls()


def test_a_fault_of_the_clerk_does_so_too(clock: Clock) -> None:
    office = Office(clock, [CLAIM])
    office.clerk.work = defer.fail(ZeroDivisionError("a fault of ours"))
    with capturedLogs():
        office.turn()
    assert office.fleet.calls == [("kill_all",)]
    assert office.exits == [1]
    assert not clock.getDelayedCalls()


def test_whatever_comes_after_the_end_is_ignored(clock: Clock) -> None:
    office = Office(clock, [CLAIM, commands.Exit(0)])
    office.clerk.work = defer.Deferred()
    office.turn()
    with capturedLogs():
        office.clerk.work.errback(ZeroDivisionError("too late"))
    office.coordinator.post(Tick())
    clock.advance(100.0)
    assert office.exits == [0]
    assert len(office.engine.heard) == 1
