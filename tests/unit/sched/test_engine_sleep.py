"""The engine sleeps until the next thing that it has to do of its own accord, and no longer."""

from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


def quiet(**settings: float) -> World:
    """A world in which nothing would happen for a thousand seconds."""
    values = {"poll_interval": 1000.0, "stats_interval": 2000.0, "worker_idle_timeout": 3000.0} | settings
    world = World(one_stage(parallelism=2, queue_limit=2, max_runtime=400.0), **values)
    world.start()
    world.wait(10.0)
    return world


def sleeps(world: World) -> float:
    return round(world.engine.next_wake - world.now, 6)


def test_with_nothing_to_do_until_the_heartbeat() -> None:
    assert sleeps(quiet()) == 990.0


def test_until_the_head_of_a_line_hangs() -> None:
    world = quiet()
    world.employ("a")
    world.wait(30.0)
    assert sleeps(world) == 370.0


def test_until_a_starting_worker_has_had_its_time() -> None:
    world = quiet()
    world.bring("a")
    world.wait(30.0)
    assert sleeps(world) == 370.0


def test_until_a_worker_has_been_idle_for_too_long() -> None:
    world = quiet(worker_idle_timeout=50.0)
    world.answer(world.employ("a"))
    world.run()
    world.wait(20.0)
    assert sleeps(world) == 30.0


def test_until_a_killed_worker_is_worth_an_alarm() -> None:
    world = quiet()
    number = world.employ("a")
    world.garble(number)
    world.run()
    world.wait(4.0)
    assert sleeps(world) == 6.0


def test_until_a_pause_of_a_stage_is_over() -> None:
    for code in (1, 75):
        world = quiet()
        world.bring("a")
        world.die(1, code=code)
        world.run()
        world.tell(events.LockLost())
        pause = 1.0 if code == 1 else 0.5
        assert sleeps(world) == pause


def test_until_what_is_owed_is_tried_again() -> None:
    world = quiet()
    world.faults["settle"] = ["undone"]
    world.answer(world.employ("a"), 5)
    world.run()
    assert sleeps(world) == 0.5


def test_until_a_row_is_due() -> None:
    world = quiet()
    world.answer(world.employ("a"), 74)
    world.run()
    world.wait(3.0)
    assert sleeps(world) == 30.0


def test_until_statistics_are_to_be_written() -> None:
    world = quiet(stats_interval=60.0)
    world.answer(world.employ("a", count=2))
    world.run()
    world.wait(2.0)
    assert sleeps(world) == 48.0


def test_until_a_claim_that_failed_may_be_made_again() -> None:
    world = quiet()
    world.faults["claim"] = ["undone"]
    world.wake()
    world.run()
    world.regain_lock()
    assert sleeps(world) == 0.1
    claims = len(world.wanted(commands.Claim))
    world.wait(0.1)
    assert len(world.wanted(commands.Claim)) == claims + 1


def test_until_the_lock_has_been_in_doubt_for_a_minute() -> None:
    world = quiet()
    world.employ("a")
    world.tell(events.LockLost())
    world.wait(20.0)
    assert sleeps(world) == 40.0


def test_until_the_stop_must_be_over() -> None:
    world = quiet(stop_time=25.0)
    world.employ("a")
    world.tell(events.StopRequested())
    world.wait(5.0)
    assert sleeps(world) == 20.0


def test_until_a_replaced_dispatcher_has_waited_for_its_workers() -> None:
    world = quiet()
    world.employ("a")
    world.tell(events.Fenced("epoch 8"))
    world.wait(4.0)
    assert sleeps(world) == 6.0
