"""A stop: claim no more, end every worker, give everything back, flush, exit; and never later than the stop time."""

import pytest

from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


def statuses(world: World) -> set[RowStatus]:
    return {row.status for row in world.rows.values()}


def stop(world: World) -> None:
    world.tell(events.StopRequested())
    world.run()


def test_an_idle_dispatcher_exits_0_at_once() -> None:
    world = World()
    world.start()
    stop(world)
    assert world.exit == commands.Exit(0)


def test_before_the_first_lock_there_is_nothing_to_stop() -> None:
    world = World()
    world.tell(events.StopRequested())
    assert world.exit == commands.Exit(0)


@pytest.mark.parametrize("is_ready", [False, True])
def test_every_worker_is_told_to_stop_and_what_it_does_not_finish_goes_back_without_blame(is_ready: bool) -> None:
    world = World(one_stage(parallelism=2, queue_limit=3))
    world.start()
    world.bring("a", count=6)
    if is_ready:
        world.tend()
    stop(world)
    assert world.wanted(commands.Stop) == [commands.Stop(1), commands.Stop(2)]
    assert world.exit is None
    if is_ready:
        world.answer(1)
    for number in (1, 2):
        world.die(number, signal=15)
    world.run()
    assert world.exit == commands.Exit(0)
    assert len(world.rows) == (5 if is_ready else 6)
    assert statuses(world) == {RowStatus.PENDING}
    assert not any(row.strikes for row in world.rows.values())


def test_an_idle_worker_is_told_to_stop_too() -> None:
    world = World()
    world.start()
    number = world.employ("b")
    world.answer(number)
    world.run()
    stop(world)
    assert world.wanted(commands.Stop) == [commands.Stop(number)]
    assert world.exit is None
    world.die(number, code=0)
    world.run()
    assert world.exit == commands.Exit(0)


def test_what_waits_for_a_slot_goes_back() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4, max_messages=1))
    world.start()
    world.bring("a", count=4)
    assert [len(child.line) for child in world.children.values()] == [1]
    stop(world)
    assert [row.status for row in world.rows.values()] == [RowStatus.RUNNING] + [RowStatus.PENDING] * 3
    world.die(1, code=0)
    world.run()
    assert world.exit == commands.Exit(0)
    assert statuses(world) == {RowStatus.PENDING}


def test_what_a_claim_under_way_brings_goes_back() -> None:
    world = World()
    world.start()
    world.inject("a", count=3)
    world.wake()
    world.tell(events.StopRequested())
    assert world.exit is None
    world.run()
    assert world.exit == commands.Exit(0)
    assert statuses(world) == {RowStatus.PENDING}
    assert not world.wanted(commands.Start)


def test_what_was_parked_goes_back_when_its_elder_is_let_go() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4))
    world.start()
    number = world.employ("a")
    world.table.repair(1)
    world.wake()
    world.run()
    assert len(world.engine.holdings()) == 2
    stop(world)
    world.die(number, signal=15)
    world.run()
    assert world.exit == commands.Exit(0)
    assert statuses(world) == {RowStatus.PENDING}


def test_what_is_owed_is_written_first() -> None:
    world = World(one_stage(), stop_time=25.0)
    world.start()
    number = world.employ("a")
    world.faults["settle"] = ["undone", "undone"]
    world.die(number, signal=9)
    world.run()
    stop(world)
    assert world.exit is None
    world.wait(5.0)
    assert world.exit == commands.Exit(0)
    assert world.rows[1].strikes == 1


def test_statistics_are_flushed_before_the_end() -> None:
    world = World(stats_interval=3600.0)
    world.start()
    number = world.employ("b", count=2)
    world.answer(number)
    world.run()
    assert not world.flushed
    stop(world)
    world.die(number, code=0)
    world.tell(world.reports.pop())
    assert not world.flushed, "one message is still to be given back"
    world.run()
    assert [flush.deltas.passes for flush in world.flushed] == [1]
    assert world.exit == commands.Exit(0)


def test_nothing_is_claimed_started_or_flipped_after_a_stop() -> None:
    world = World()
    world.start()
    world.employ("a")
    world.inject("a", count=10)
    stop(world)
    before = len(world.log)
    for _ in range(5):
        world.wake()
        world.wait(4.0)
    later = {type(command) for command in world.log[before:]}
    assert not later & {commands.Claim, commands.Start, commands.Hand, commands.FlipDue, commands.AskDue}


def test_a_worker_that_ignores_the_stop_delays_the_end_until_the_stop_time_at_most() -> None:
    world = World(one_stage(max_runtime=300.0), stop_time=25.0)
    world.start()
    world.employ("a", count=2)
    stop(world)
    world.wait(24.9)
    assert world.exit is None
    world.wait(0.1)
    assert world.exit == commands.Exit(1, left=(1, 2))


def test_with_the_database_away_it_ends_within_the_stop_time_exits_1_and_names_what_it_had_to_leave() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4), stop_time=25.0)
    world.start()
    number = world.employ("a", count=3)
    world.outage = True
    world.tell(events.LockLost())
    stop(world)
    world.die(number, signal=15)
    world.run()
    world.wait(24.9)
    assert world.exit is None
    world.wait(0.1)
    assert world.exit == commands.Exit(1, left=(1, 2, 3))
    assert "3 messages, which stay running: [1, 2, 3]" in world.notes[-1]


def test_with_the_lock_lost_what_can_be_written_is_written_and_the_exit_is_0() -> None:
    world = World(one_stage())
    world.start()
    number = world.employ("a", count=3)
    world.tell(events.LockLost())
    stop(world)
    world.die(number, signal=15)
    world.run()
    assert world.exit == commands.Exit(0)
    assert statuses(world) == {RowStatus.PENDING}


def test_a_second_request_does_not_move_the_end() -> None:
    world = World(one_stage(max_runtime=300.0), stop_time=25.0)
    world.start()
    world.employ("a")
    stop(world)
    world.wait(20.0)
    stop(world)
    assert len(world.wanted(commands.Stop)) == 1
    world.wait(5.0)
    assert world.exit == commands.Exit(1, left=(1,))


def test_after_the_exit_nothing_is_wanted_any_more() -> None:
    world = World()
    world.start()
    stop(world)
    assert world.engine.next_wake == float("inf")
    world.inject("a")
    assert world.tell(events.LockLost(), events.Tick()) == []
