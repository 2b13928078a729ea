"""More faults that a review found in the engine, each kept from coming back."""

import pytest

from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


def test_a_row_that_somebody_else_has_locked_does_not_delay_what_is_owed_for_others() -> None:
    world = World(one_stage(), worker_idle_timeout=1000.0)
    world.start()
    number = world.employ("a", count=2)
    world.table.locks.add(1)
    world.answer(number, 5)
    world.run()
    world.wait(60.0)
    world.answer(number, 5)
    world.run()
    assert [row.status for row in world.rows.values()] == [RowStatus.RUNNING, RowStatus.FAILED]
    world.table.locks.clear()
    world.wait(31.0)
    assert [row.status for row in world.rows.values()] == [RowStatus.FAILED] * 2


def test_exit_78_before_any_answer_blames_no_message_whatever_the_worker_wrote() -> None:
    world = World(one_stage())
    world.start()
    number = world.employ("a", count=2)
    world.garble(number)
    world.run()
    world.die(number, code=78)
    world.deliver()
    assert [(row.status, row.strikes) for row in world.rows.values()] == [(RowStatus.PENDING, 0)] * 2


def test_a_message_that_came_under_suspicion_while_it_was_parked_runs_alone() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4))
    world.start()
    world.bring("a", count=2)
    world.ready(1, batch=True)
    world.run()
    for number in (1, 2):
        world.table.repair(number)
    world.wake()
    world.run()
    world.die(1, signal=9)
    world.run()
    assert [child.line for child in world.children.values()] == [[]]
    world.tend()
    assert [child.line for child in world.children.values()] == [[1]]


@pytest.mark.parametrize("cause", ["the database was away", "somebody held a lock"])
def test_what_could_not_be_written_for_long_is_written_in_time_at_a_stop(cause: str) -> None:
    world = World(one_stage(), worker_idle_timeout=1000.0, stop_time=25.0)
    world.start()
    number = world.employ("a")
    if cause == "somebody held a lock":
        world.table.locks.add(1)
    else:
        world.faults["settle"] = ["undone"] * 8
    world.answer(number, 5)
    world.run()
    world.wait_for(lambda: len(world.wanted(commands.Settle)) == 8)
    world.table.locks.clear()
    world.tell(events.StopRequested())
    world.die(number, code=0)
    world.run()
    world.wait(25.0)
    assert world.rows[1].status is RowStatus.FAILED
    assert world.exit == commands.Exit(0)
