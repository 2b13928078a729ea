"""Promises that the engine does not keep yet. Whoever mends one takes its mark away."""

import pytest

from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


@pytest.mark.xfail(strict=True, reason="a pause that has grown to half a minute is longer than the stop time")
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
