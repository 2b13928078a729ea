"""Faults that a review and histories found in the engine, each kept from coming back."""

import pytest

from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


@pytest.mark.parametrize("code", [1, 75])
def test_when_a_pause_of_a_stage_is_over_its_mail_is_claimed_at_once(code: int) -> None:
    world = World()
    world.start()
    world.bring("a")
    (number,) = world.children
    world.die(number, code=code)
    world.run()
    assert world.rows[1].status is RowStatus.PENDING
    world.wait(1.1)
    assert world.children


def test_a_process_that_stood_still_past_a_deadline_gives_the_worker_the_time_it_had_left() -> None:
    world = World(one_stage(max_runtime=20.0), poll_interval=30.0)
    world.start()
    world.employ("a")
    world.wait(5.0)
    assert world.engine.next_wake == 1020.0
    world.now += 100.0
    world.tell(events.Tick())
    assert not world.wanted(commands.Kill)


def test_an_end_that_we_asked_for_strikes_nobody_whatever_the_worker_writes_last() -> None:
    world = World()
    world.start()
    number = world.employ("a", count=2)
    world.tell(events.StopRequested())
    world.garble(number)
    world.run()
    world.die(number, signal=9)
    world.run()
    assert [(row.status, row.strikes) for row in world.rows.values()] == [(RowStatus.PENDING, 0)] * 2


def test_a_row_that_is_given_back_while_the_lock_returns_is_not_lost() -> None:
    world = World(one_stage())
    world.start()
    number = world.employ("a", count=2)
    world.tell(events.LockLost())
    world.die(number, signal=9)
    world.deliver()
    assert world.rows[2].status is RowStatus.PENDING, "it is written, but the news is still on its way"
    (settled,) = world.reports
    world.reports.clear()
    world.regain_lock()
    world.reports.append(settled)
    world.run()
    world.settle_down()
    assert world.done == {1: 1, 2: 1}


def test_a_message_whose_settlement_the_database_refuses_is_not_blamed_for_it() -> None:
    world = World(one_stage(), poll_interval=30.0)
    world.start()
    number = world.employ("a")
    world.faults["settle"] = ["refused"]
    world.answer(number, 75)
    world.run()
    world.wait(70.0)
    assert world.rows[1].strikes == 0


def test_two_looks_at_the_same_moment_are_not_two_heartbeats() -> None:
    world = World(one_stage(), poll_interval=30.0, worker_idle_timeout=1000.0)
    world.start()
    number = world.employ("a")
    look = events.RunningRows(look=world.looked, rows=world.table.running())
    world.answer(number)
    world.run()
    world.tell(look)
    world.tell(look)
    assert not world.notes


def test_a_look_from_before_the_rows_were_reconciled_blames_nobody() -> None:
    world = World(one_stage(), poll_interval=30.0)
    world.start()
    world.inject("a")
    world.faults["claim"] = ["done"]
    world.wake()
    look = events.RunningRows(look=world.looked, rows=world.table.running())
    world.run()
    world.tell(look)
    world.tell(look)
    assert not world.notes


def test_the_end_of_an_idle_worker_is_nothing_to_write() -> None:
    world = World(one_stage())
    world.start()
    world.wait(10.0)
    number = world.employ("a")
    world.answer(number)
    world.run()
    assert len(world.flushed) == 1
    world.wait(5.0)
    world.die(number, code=0)
    world.run()
    world.wait(5.0)
    assert len(world.flushed) == 1


def test_a_flush_that_fails_at_the_end_is_not_repeated_without_a_pause() -> None:
    world = World(one_stage(), stop_time=25.0)
    world.start()
    number = world.employ("a")
    world.answer(number)
    world.tell(events.StopRequested())
    world.faults["flush"] = ["undone"] * 1000
    world.die(number, code=0)
    world.run()
    assert len(world.flushed) < 10


@pytest.mark.parametrize("asked", [False, True])
def test_a_replaced_dispatcher_ends_even_if_a_worker_cannot_be_killed(asked: bool) -> None:
    world = World(one_stage(max_runtime=300.0), stop_time=25.0)
    world.start()
    world.employ("a")
    world.tell(events.Fenced("epoch 8"))
    if asked:
        world.tell(events.StopRequested())
    world.wait(60.0)
    assert world.exit == commands.Exit(1)


def test_a_stop_with_a_claim_of_unknown_outcome_is_not_clean() -> None:
    world = World(one_stage())
    world.start()
    world.inject("a")
    world.faults["claim"] = ["done"]
    world.wake()
    world.tell(events.StopRequested())
    world.run()
    world.wait(30.0)
    assert world.rows[1].status is RowStatus.RUNNING
    assert world.exit is not None
    assert world.exit.status == 1


def test_the_pause_doubles_while_workers_exit_78_after_they_were_ready() -> None:
    world = World(one_stage())
    world.start()
    pauses = []
    world.bring("a")
    for _ in range(4):
        number = world.tend()
        world.die(number, code=78)
        world.run()
        before = world.now
        world.wait_for(lambda: world.children)
        pauses.append(world.now - before)
    assert pauses == [1.0, 2.0, 4.0, 8.0]


def test_a_claim_that_fails_again_and_again_is_made_ever_more_slowly() -> None:
    world = World(one_stage())
    world.start()
    world.faults["claim"] = ["undone"] * 1000
    world.wake()
    for _ in range(50):
        world.run()
        world.regain_lock()
    assert len(world.wanted(commands.Claim)) < 10


def test_workers_that_are_killed_because_the_lock_is_in_doubt_start_no_cooldown() -> None:
    world = World(one_stage(max_runtime=300.0))
    world.start()
    world.bring("a")
    world.tell(events.LockLost())
    world.wait(60.0)
    world.die(1, signal=9)
    world.run()
    assert not [note for note in world.notes if "did not get ready" in note]


def test_an_idle_dispatcher_asks_for_the_next_due_row_once_a_heartbeat() -> None:
    world = World(poll_interval=30.0)
    world.start()
    world.wait(10.0)
    before = len(world.wanted(commands.AskDue))
    world.wait(300.0)
    assert len(world.wanted(commands.AskDue)) - before == 10


def test_a_worker_is_not_let_go_in_the_very_turn_that_brings_mail_for_it() -> None:
    world = World(one_stage(parallelism=1), worker_idle_timeout=5.0)
    world.start()
    number = world.employ("a")
    world.answer(number)
    world.run()
    world.inject("a")
    world.wake()
    world.now += 5.0
    world.run()
    assert world.children[number].line == [2]


def test_nothing_is_handed_over_before_ready_while_a_ready_worker_has_room() -> None:
    world = World(one_stage(parallelism=2, queue_limit=4))
    world.start()
    number = world.employ("a")
    world.now += 1.0
    world.answer(number)
    world.run()
    world.bring("a", count=2)
    assert [child.life for child in world.children.values() if child.line] == ["ready"]
