"""A configuration that changes while mail flows."""

from dataclasses import replace

from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from pepsi.sched.statistics import StageCounts
from tests.unit.sched.reloading import reconfigure, renew
from tests.unit.sched.world import World, one_stage


def busy(parallelism: int = 1, queue_limit: int = 4, count: int = 2) -> World:
    """A stage with one worker that is at work, and the first message in its pipe."""
    world = World(one_stage(parallelism=parallelism, queue_limit=queue_limit))
    world.start()
    world.employ("a", count=count)
    return world


def retired(world: World) -> list[int]:
    return [retire.worker for retire in world.wanted(commands.Retire)]


def test_a_worker_finishes_what_it_holds_gets_nothing_more_and_is_let_go() -> None:
    world = busy()
    reconfigure(world, world.specs)
    world.bring("a")
    assert world.children[1].line == [1, 2]
    assert not retired(world)
    world.answer(1)
    world.run()
    assert not retired(world)
    world.answer(1)
    world.run()
    assert retired(world) == [1]


def test_the_one_that_takes_its_place_does_not_wait_for_it() -> None:
    world = busy(count=4)
    reconfigure(world, world.specs)
    world.bring("a", count=4)
    world.tend()
    assert world.children[1].line == [1, 2, 3, 4]
    assert world.children[2].line == [5, 6, 7, 8]


def test_one_change_after_another_does_not_pile_up_workers() -> None:
    world = busy(parallelism=2)
    for _ in range(10):
        reconfigure(world, world.specs)
        world.bring("a", count=4)
        world.tend()
    assert len(world.children) == 4
    world.settle_down()
    assert set(world.done.values()) == {1}


def test_while_connections_are_short_nobody_is_started_beside_workers_that_go_out() -> None:
    world = World(one_stage(parallelism=2, queue_limit=1))
    world.start()
    world.bring("a", count=2)
    for number in world.children:
        world.ready(number)
    world.run()
    world.answer(2, 75)
    world.run()
    reconfigure(world, world.specs)
    world.tend()
    world.bring("a")
    world.wait(1.0)
    assert [child.line for child in world.children.values()] == [[1]]
    world.answer(1)
    world.run()
    world.die(1, code=0)
    world.run()
    assert len(world.children) == 1


def test_idle_workers_are_let_go_at_once_and_so_are_those_that_start_with_nothing() -> None:
    world = busy(parallelism=2, queue_limit=1, count=1)
    world.bring("a")
    world.answer(1)
    world.run()
    renew(world)
    assert retired(world) == [1]
    world.ready(2)
    world.run()
    world.answer(2)
    world.run()
    assert retired(world) == [1, 2]


def test_what_was_handed_to_a_worker_before_it_was_ready_is_done_by_it() -> None:
    world = World(one_stage())
    world.start()
    world.bring("a")
    renew(world)
    world.ready(1)
    world.run()
    world.bring("a")
    assert world.children[1].line == [1]
    world.answer(1)
    world.run()
    assert retired(world) == [1]
    assert world.done == {1: 1}


def test_the_next_worker_is_of_the_new_configuration() -> None:
    world = busy()
    reconfigure(world, {"a": replace(world.specs["a"], program="other", max_runtime=7.0)})
    world.bring("a")
    assert world.engine.spec("a").program == "other"
    world.tend()
    world.wait(7.0)
    assert world.wanted(commands.Kill) == [commands.Kill(2)], "the first one has the time that it had"


def test_a_crash_of_a_worker_that_goes_out_is_a_crash() -> None:
    world = busy()
    reconfigure(world, world.specs)
    world.die(1, signal=11)
    world.run()
    assert world.rows[1].strikes == 1
    assert world.rows[2].strikes == 0


def test_a_worker_that_goes_out_and_never_got_ready_holds_up_nobody_that_takes_its_place() -> None:
    world = World(one_stage())
    world.start()
    world.bring("a")
    reconfigure(world, world.specs)
    world.die(1, code=78)
    world.run()
    assert world.children
    assert world.rows[1].strikes == 0


def test_a_reload_may_have_mended_what_kept_workers_from_being_started() -> None:
    world = World(one_stage())
    world.start()
    for _ in range(5):
        world.bring("a")
        world.die(max(world.children), code=1)
        world.run()
        world.wait_for(lambda: world.children)
    world.die(max(world.children), code=1)
    world.run()
    assert not world.children
    reconfigure(world, world.specs)
    world.run()
    assert world.children


def test_mail_of_a_stage_that_is_added_moves_at_once() -> None:
    world = World()
    world.start()
    world.inject("new")
    world.wake()
    world.run()
    reconfigure(world, world.specs | one_stage("new"))
    world.run()
    assert [child.stage for child in world.children.values()] == ["new"]


def test_of_a_stage_that_is_removed_what_waits_goes_back_and_what_is_at_work_is_finished() -> None:
    world = busy(parallelism=2, queue_limit=2, count=2)
    number = world.inject("a")
    world.rows[number].strikes = 1
    world.wake()
    world.run()
    assert world.rows[number].status is RowStatus.RUNNING, "it waits for a worker of its own"
    reconfigure(world, one_stage("b"))
    world.run()
    assert [row.status for row in world.rows.values()] == [RowStatus.RUNNING] * 2 + [RowStatus.PENDING]
    world.answer(1)
    world.run()
    world.answer(1)
    world.run()
    assert world.done == {1: 1, 2: 1}
    for number in list(world.children):
        world.die(number, code=0)
    world.run()
    world.wake()
    world.run()
    assert world.room_asked_for[-1].keys() == {"b"}
    assert [pool.stage for pool in world.engine.gauges(world.now).stages] == ["b"]
    world.wait(60.0)
    assert world.flushed[-1].deltas.stages["a"] == StageCounts(messages=2, requeues=1)


def test_a_stage_that_is_removed_while_its_claim_is_under_way_gives_its_rows_back() -> None:
    world = World()
    world.start()
    world.inject("a")
    world.wake()
    reconfigure(world, one_stage("b"))
    world.run()
    assert world.rows[1].status is RowStatus.PENDING
    assert not world.engine.holdings()


def test_a_stage_that_is_removed_and_added_again_goes_on_while_its_former_worker_finishes() -> None:
    world = busy()
    reconfigure(world, one_stage("b"))
    reconfigure(world, one_stage("a"))
    world.bring("a")
    world.tend()
    assert [child.line for child in world.children.values()] == [[1, 2], [3]]
    world.settle_down()
    assert world.done == {1: 1, 2: 1, 3: 1}


def test_a_lowered_parallelism_holds_for_the_workers_that_are_started_from_then_on() -> None:
    world = World(one_stage(parallelism=3, queue_limit=1))
    world.start()
    world.bring("a", count=3)
    reconfigure(world, {"a": replace(world.specs["a"], parallelism=1)})
    world.bring("a", count=3)
    assert len(world.wanted(commands.Start)) == 4


def test_nothing_is_taken_over_once_the_stop_has_begun() -> None:
    world = busy()
    world.tell(events.StopRequested())
    reconfigure(world, one_stage("b"))
    renew(world)
    world.answer(1)
    world.die(1, code=0)
    world.run()
    assert world.exit == commands.Exit(0)
