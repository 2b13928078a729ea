"""Bodies are swept up with a flush, once an interval at most, and only where rows may have ended."""

from pepsi.sched import commands, events
from pepsi.sched.sweeping import SWEEP_LIMIT
from tests.unit.sched.world import World, one_stage


def worked(world: World) -> None:
    """Let one message go through."""
    world.bring("a")
    number = world.tend()
    world.answer(number)
    world.run()
    world.wait(2.0)


def world_of(**settings: float) -> World:
    world = World(one_stage(), **{"stats_interval": 60.0, "worker_idle_timeout": 10_000.0, **settings})
    world.start()
    return world


def test_nothing_is_swept_where_nothing_ended() -> None:
    world = world_of()
    world.wait(1000.0)
    assert not world.wanted(commands.Sweep)


def test_after_mail_there_is_one_sweep_and_no_more() -> None:
    world = world_of()
    worked(world)
    worked(world)
    assert not world.wanted(commands.Sweep), "an interval has not gone by"
    world.wait(1000.0)
    assert world.wanted(commands.Sweep) == [commands.Sweep(SWEEP_LIMIT)]


def test_light_traffic_is_swept_after_once_an_interval() -> None:
    world = world_of()
    for _ in range(100):
        worked(world)
        world.wait(1.0)
    assert 4 <= len(world.wanted(commands.Sweep)) <= 6


def test_what_one_sweep_left_the_next_one_takes() -> None:
    world = world_of()
    world.faults["sweep"] = ["undone", "undone"]
    worked(world)
    world.wait(1000.0)
    assert len(world.wanted(commands.Sweep)) == 3


def test_without_the_lock_nothing_is_swept() -> None:
    world = world_of()
    worked(world)
    world.outage = True
    world.tell(events.LockLost())
    world.wait(50.0)
    assert not world.wanted(commands.Sweep)
