"""What can be read off the engine is what it holds, and reading changes nothing."""

from pepsi.sched import events
from pepsi.sched.statistics import MemoryCounts, StageCounts
from tests.unit.sched.world import World, one_stage


def test_a_stage_shows_what_it_holds_and_who_is_at_work() -> None:
    world = World(one_stage(parallelism=2, queue_limit=2))
    world.start()
    world.bring("a", count=5)
    first, _ = world.children
    world.ready(first)
    world.run()
    world.now += 3.0
    gauges = world.engine.gauges(world.now)
    (stage,) = gauges.stages
    assert gauges.lock_held
    assert not gauges.stopping
    assert (gauges.in_flight, stage.in_flight) == (4, 4)
    assert stage.workers == {"starting": 1, "ready": 1, "draining": 0, "retiring": 0, "stopping": 0, "killed": 0}
    assert stage.parallelism == 2
    assert stage.head_lag == 3.0
    assert stage.memory == MemoryCounts(workers_started=2)
    world.answer(first)
    world.run()
    (stage,) = world.engine.gauges(world.now).stages
    assert stage.counts == StageCounts(messages=1, microseconds=3_000_000)
    assert world.engine.gauges(world.now).passes == 1


def test_pauses_show_for_as_long_as_they_last() -> None:
    world = World(one_stage())
    world.start()
    world.answer(world.employ("a"), 75)
    world.run()
    (stage,) = world.engine.gauges(world.now).stages
    assert stage.hold_off > 0
    (stage,) = world.engine.gauges(world.now + stage.hold_off).stages
    assert stage.hold_off == 0


def test_what_is_owed_and_a_lost_lock_show() -> None:
    world = World(one_stage())
    world.start()
    number = world.employ("a")
    world.outage = True
    world.tell(events.LockLost())
    world.answer(number, 5)
    world.run()
    gauges = world.engine.gauges(world.now)
    assert not gauges.lock_held
    assert (gauges.owed, gauges.failed) == (1, 1)


def test_reading_changes_nothing() -> None:
    world = World()
    world.start()
    world.employ("a", count=3)
    wake = world.engine.next_wake
    assert world.engine.gauges(world.now) == world.engine.gauges(world.now)
    assert world.engine.next_wake == wake
