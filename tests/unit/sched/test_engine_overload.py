"""What the engine does while the database has no connection left for all workers."""

from pepsi.sched import commands, events
from pepsi.sched.overload import STEP, WINDOW
from tests.unit.sched.world import World, one_stage


def crowd(workers: int = 4, **settings: float) -> World:
    """Stage a has so many ready workers with one message each, and may have no more."""
    world = World(one_stage(parallelism=workers, queue_limit=2), **settings)
    world.start()
    world.employ("a")
    world.now += 1.0
    world.answer(1)
    world.run()
    world.bring("a", count=workers)
    for number in world.children:
        world.ready(number)
    world.run()
    return world


def capacity(world: World) -> int:
    """What is claimed next when nothing is in flight."""
    world.wake()
    world.run()
    (want,) = world.wanted(commands.Claim)[-1].wants
    return want.capacity


def test_one_75_halves_the_workers_and_the_log_names_the_remedy() -> None:
    world = crowd()
    world.answer(3, 75)
    world.run()
    assert "Raise max_connections, or lower PARALLELISM" in world.notes[-2]
    assert "which runs most workers (4), may have at most 2" in world.notes[-1]


def test_the_surplus_gets_nothing_more_goes_cold_and_is_let_go() -> None:
    world = crowd(worker_idle_timeout=5.0)
    world.answer(4, 75)
    for number in (1, 2, 3):
        world.answer(number)
    world.run()
    for _ in range(20):
        world.inject("a", count=4)
        world.wake()
        world.wait(1.0)
        assert not world.children[3].line
        assert not world.children[4].line
        for number in (1, 2):
            world.answer(number, count=2)
        world.run()
    assert {retire.worker for retire in world.wanted(commands.Retire)} == {3, 4}
    assert len(world.wanted(commands.Start)) == 4


def test_no_more_is_claimed_than_the_remaining_workers_can_hold_and_the_limit_comes_back() -> None:
    world = crowd()
    for number in world.children:
        world.answer(number, 75 if number == 4 else 0)
    world.run()
    world.wait(0.5)
    world.answer(1)
    world.run()
    assert capacity(world) == 4
    world.wait(WINDOW - 1.0)
    assert capacity(world) == 4
    world.wait(1.5)
    assert capacity(world) == 8
    assert "stage a may have 4 workers again" in world.notes[-1]


def test_another_stage_pays_if_it_runs_more_workers() -> None:
    world = World({**one_stage("a", parallelism=1), **one_stage("b", parallelism=4, queue_limit=1)})
    world.start()
    world.bring("b", count=4)
    world.bring("a")
    for number in world.children:
        world.ready(number)
    world.run()
    world.answer(5, 75)
    world.run()
    assert "stage b, which runs most workers (4), may have at most 2" in world.notes[-1]


def test_exit_75_before_ready_counts_as_a_report() -> None:
    world = World(one_stage(parallelism=4, queue_limit=1))
    world.start()
    world.bring("a", count=4)
    world.die(4, code=75)
    world.run()
    assert "which runs most workers (3), may have at most 1" in world.notes[-1]


def test_a_limit_is_raised_though_the_lock_is_lost_meanwhile() -> None:
    world = crowd()
    world.answer(4, 75)
    world.run()
    world.tell(events.LockLost())
    world.wait(WINDOW + STEP)
    assert [note for note in world.notes if "stage a may have 4 workers again" in note]
