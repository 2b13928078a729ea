"""Due rows, heartbeats, a process that stood still, statistics, and rows that run although nobody holds them."""

import pytest

from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from pepsi.sched.timetable import FLIP_LIMIT
from tests.unit.sched.world import World, one_stage


def asks(world: World) -> int:
    return len(world.wanted(commands.AskDue))


def paused(world: World, count: int, due_in: float) -> None:
    """Rows that somebody else has paused."""
    first = world.inject("a", count=count) - count + 1
    for number in range(first, first + count):
        world.table.pause(number, world.now + due_in)


# Due rows


def test_the_next_due_time_is_asked_for_after_a_claim_that_came_back_short() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4))
    world.start()
    world.wait(5.0)
    before = asks(world)
    world.bring("a", count=4)
    assert asks(world) == before, "the claim came back full"
    world.answer(world.tend(), count=4)
    world.run()
    assert asks(world) == before + 1


def test_it_is_asked_for_once_a_second_at_most() -> None:
    world = World(worker_idle_timeout=1000.0)
    world.start()
    before, start = asks(world), world.now
    while world.now < start + 10.0:
        world.wait(0.1)
        world.bring("a")
        world.answer(world.tend())
        world.run()
    assert 9 <= asks(world) - before <= 11


def test_a_due_row_is_flipped_when_its_time_has_come_and_then_claimed() -> None:
    world = World(poll_interval=1000.0)
    paused(world, 1, due_in=100.0)
    world.start()
    world.wait(99.9)
    assert not world.wanted(commands.FlipDue)
    world.wait(0.1)
    assert world.wanted(commands.FlipDue) == [commands.FlipDue(FLIP_LIMIT)]
    assert world.wanted(commands.Hand) == [commands.Hand(1, (1,))]


def test_more_due_rows_than_one_statement_may_flip_follow_at_once() -> None:
    world = World()
    paused(world, 2 * FLIP_LIMIT + 1, due_in=-10.0)
    world.start()
    assert len(world.wanted(commands.FlipDue)) == 3
    assert not [row for row in world.rows.values() if row.status is RowStatus.PAUSED]


def test_a_parked_row_is_left_alone() -> None:
    world = World()
    world.inject("a")
    world.table.pause(1, None)
    world.start()
    world.wait(1000.0)
    assert not world.wanted(commands.FlipDue)


def test_a_question_that_got_no_answer_is_asked_again() -> None:
    world = World(poll_interval=1000.0)
    paused(world, 1, due_in=5.0)
    world.faults["due"] = ["undone"]
    world.start()
    world.wait(10.0)
    assert world.wanted(commands.Hand)


def test_a_row_that_the_operator_makes_due_is_found_by_the_heartbeat() -> None:
    world = World(poll_interval=30.0)
    world.start()
    paused(world, 1, due_in=5.0)
    world.wait(31.0)
    assert world.wanted(commands.Hand)


def test_an_idle_dispatcher_asks_the_database_for_nothing_between_heartbeats() -> None:
    world = World(poll_interval=30.0)
    world.start()
    world.wait(32.0)
    before = len(world.log)
    world.wait(27.9)
    assert world.log[before:] == []
    world.wait(0.1)
    looks = {commands.Claim, commands.AskDue, commands.AskRunning, commands.Inspect}
    assert {type(command) for command in world.log[before:]} == looks


# A process that stood still


def test_while_this_process_stood_still_nobody_hung() -> None:
    world = World(one_stage(max_runtime=100.0), poll_interval=30.0)
    world.start()
    world.employ("a")
    world.now += 3600.0
    world.tell(events.Tick())
    assert not world.wanted(commands.Kill)
    world.wait(50.0)
    assert not world.wanted(commands.Kill)
    world.wait(50.0)
    assert world.wanted(commands.Kill)


def test_being_late_by_a_moment_is_no_standstill() -> None:
    world = World(one_stage(max_runtime=10.0), poll_interval=30.0)
    world.start()
    world.employ("a")
    world.wait(9.0)
    world.now += 3.0
    world.tell(events.Tick())
    assert world.wanted(commands.Kill)


# Statistics


def test_statistics_are_flushed_when_the_pipeline_goes_idle() -> None:
    world = World(stats_interval=60.0)
    world.start()
    world.wait(10.0)
    world.bring("b")
    world.answer(world.tend())
    world.run()
    (flush,) = world.flushed
    assert flush.number == 1
    assert flush.deltas.stages["b"].messages == 1


def test_an_idle_pipeline_is_flushed_once_a_second_at_most() -> None:
    world = World(worker_idle_timeout=1000.0)
    world.start()
    start = world.now
    while world.now < start + 10.0:
        world.wait(0.1)
        world.bring("b")
        world.answer(world.tend())
        world.run()
    assert 9 <= len(world.flushed) <= 11


def test_a_busy_pipeline_is_flushed_once_an_interval() -> None:
    world = World(one_stage(parallelism=1, queue_limit=2, max_runtime=300.0), stats_interval=60.0)
    world.start()
    world.bring("a", count=100)
    number = world.tend()
    start = world.now
    while world.now < start + 170.0:
        world.wait(10.0)
        world.answer(number)
        world.run()
    assert [flush.number for flush in world.flushed] == [1, 2]


def test_a_flush_that_failed_is_repeated_under_its_number_before_the_next() -> None:
    world = World(worker_idle_timeout=1000.0)
    world.start()
    world.wait(10.0)
    world.faults["flush"] = ["undone"]
    for _ in range(2):
        world.bring("b")
        world.answer(world.tend())
        world.run()
    world.wait(3.0)
    assert [flush.number for flush in world.flushed] == [1, 1, 2]
    assert world.flushed[0].deltas is world.flushed[1].deltas
    assert [flush.deltas.passes for flush in world.flushed] == [1, 1, 1]


def test_statistics_wait_for_the_lock() -> None:
    world = World(worker_idle_timeout=1000.0)
    world.start()
    world.bring("b")
    number = world.tend()
    world.tell(events.LockLost())
    world.answer(number)
    world.run()
    world.wait(50.0)
    assert not world.flushed
    world.regain_lock()
    world.run()
    world.wait(1.0)
    assert len(world.flushed) == 1


# Rows that run although nobody holds them


def stray(count: int = 1) -> World:
    """Workers have answered 0 for messages and committed nothing."""
    world = World(one_stage(parallelism=1, queue_limit=4), poll_interval=30.0, worker_idle_timeout=1000.0)
    world.start()
    number = world.employ("a", count=count)
    world.answer(number, count=count, commit=False)
    world.run()
    return world


def test_a_row_that_nobody_holds_at_two_heartbeats_takes_a_strike() -> None:
    world = stray()
    world.wait(30.0)
    assert world.rows[1].status is RowStatus.RUNNING
    world.wait(30.0)
    assert (world.rows[1].status, world.rows[1].strikes) == (RowStatus.PAUSED, 1)
    assert world.rows[1].state["last_error"] == "its worker answered 0 and committed nothing"
    assert not world.engine.holdings()


def test_a_row_at_which_a_foreign_worker_does_nothing_cannot_go_round_for_ever() -> None:
    world = stray()
    for _ in range(100):
        world.wait(10.0)
        if any(child.line for child in world.children.values()):
            world.answer(world.tend(), commit=False)
            world.run()
    assert (world.rows[1].status, world.rows[1].strikes) == (RowStatus.FAILED, 3)


@pytest.mark.parametrize("beats", [1, 2, 5])
def test_what_a_worker_or_a_debt_holds_is_no_stray(beats: int) -> None:
    world = World(one_stage(parallelism=2, queue_limit=1, max_runtime=1e6), poll_interval=30.0)
    world.start()
    world.employ("a")
    second = world.employ("a")
    world.faults["settle"] = ["undone"] * 100
    world.answer(second, 5)
    world.run()
    world.wait(30.0 * beats)
    assert not [note for note in world.notes if "strike" in note]


def test_another_claim_of_the_same_row_starts_the_count_again() -> None:
    world = stray()
    world.wait(30.0)
    world.table.repair(1)
    world.wake()
    world.run()
    number = world.tend()
    world.answer(number, commit=False)
    world.run()
    world.wait(30.0)
    assert world.rows[1].strikes == 0
    world.wait(30.0)
    assert world.rows[1].strikes == 1


def test_strays_are_not_judged_while_a_claim_is_under_way() -> None:
    world = World(one_stage(), poll_interval=30.0)
    world.start()
    world.inject("a")
    world.wake()
    for _ in range(3):
        world.now += 30.0
        world.tell(events.Tick())
        for report in [each for each in world.reports if not isinstance(each, events.Claimed)]:
            world.reports.remove(report)
            world.tell(report)
    world.run()
    assert not world.notes
    assert world.wanted(commands.Hand) == [commands.Hand(1, (1,))]


def test_a_look_that_is_judged_late_blames_nobody_for_what_was_held_when_it_came() -> None:
    world = World(one_stage(parallelism=2), poll_interval=30.0, worker_idle_timeout=1000.0)
    world.start()
    number = world.employ("a")
    world.inject("a")
    world.wake()

    def hear(kind: type[events.Event]) -> None:
        report = next(each for each in world.reports if isinstance(each, kind))
        world.reports.remove(report)
        world.tell(report)

    def beat() -> None:
        world.now += 30.0
        world.tell(events.Tick())

    beat()
    hear(events.RunningRows)
    beat()
    world.answer(number)
    hear(events.Answered)
    hear(events.Claimed)
    hear(events.RunningRows)
    world.run()
    assert not [note for note in world.notes if "strike" in note or "nobody" in note]


def test_strays_are_settled_however_much_mail_is_in_flight() -> None:
    world = stray(count=4)
    world.wait(30.0)
    world.bring("a", count=4)
    world.wait(30.0)
    assert [world.rows[number].strikes for number in (1, 2, 3, 4)] == [1] * 4
