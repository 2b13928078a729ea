"""When workers are started, what they are given, and when they are let go."""

import pytest

from pepsi.model.status import Status
from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


def hands(world: World) -> list[tuple[int, tuple[int, ...]]]:
    return [(hand.worker, hand.ids) for hand in world.wanted(commands.Hand)]


def starts(world: World) -> int:
    return len(world.wanted(commands.Start))


def retired(world: World) -> list[int]:
    return [retire.worker for retire in world.wanted(commands.Retire)]


def with_slow_mail(parallelism: int = 3, queue_limit: int = 4) -> tuple[World, int]:
    """A stage at which a message takes a second, with one ready worker that holds nothing."""
    world = World(one_stage(parallelism=parallelism, queue_limit=queue_limit))
    world.start()
    number = world.employ("a")
    world.now += 1.0
    world.answer(number)
    world.run()
    return world, number


def test_no_worker_runs_before_its_stage_sees_mail() -> None:
    world = World()
    world.start()
    world.wait(100.0)
    assert not starts(world)
    world.bring("b")
    assert [child.stage for child in world.children.values()] == ["b"]


def test_mail_goes_to_one_worker_while_it_has_room() -> None:
    world = World(one_stage(parallelism=3, queue_limit=4))
    world.start()
    number = world.employ("a")
    for _ in range(3):
        world.bring("a")
    assert starts(world) == 1
    assert world.children[number].line == [1, 2, 3, 4]
    world.bring("a")
    assert starts(world) == 2


def test_no_more_workers_than_the_parallelism_and_no_more_ids_than_the_queue_limit() -> None:
    world = World(one_stage(parallelism=2, queue_limit=3))
    world.start()
    world.bring("a", count=20)
    assert hands(world) == [(1, (1, 2, 3)), (2, (4, 5, 6))]


def test_slow_mail_is_spread_over_all_workers_that_may_be_started() -> None:
    world, _ = with_slow_mail(parallelism=3)
    world.bring("a", count=3)
    world.tend()
    assert [len(child.line) for child in world.children.values()] == [1, 1, 1]


def test_when_all_workers_run_slow_mail_queues_behind_the_least_loaded() -> None:
    world, first = with_slow_mail(parallelism=2)
    world.bring("a", count=2)
    world.ready(2)
    world.run()
    world.bring("a", count=2)
    assert [len(child.line) for child in world.children.values()] == [2, 2]
    assert first in world.children


def test_ids_are_handed_over_before_ready_when_no_ready_worker_has_room() -> None:
    world = World(one_stage(parallelism=2, queue_limit=1))
    world.start()
    world.employ("a")
    world.bring("a")
    assert hands(world)[-1] == (2, (2,))
    assert world.children[2].life == "starting"


def test_a_ready_worker_with_room_is_preferred_to_a_starting_one() -> None:
    world = World(one_stage(parallelism=2, queue_limit=2))
    world.start()
    first = world.employ("a", count=2)
    world.bring("a")
    world.answer(first)
    world.run()
    world.bring("a")
    assert hands(world)[-1] == (first, (4,))


def test_an_idle_worker_is_let_go_when_its_time_is_up_and_gets_nothing_more() -> None:
    world = World(one_stage(), worker_idle_timeout=5.0)
    world.start()
    number = world.employ("a")
    world.answer(number)
    world.run()
    world.wait(4.9)
    assert not retired(world)
    world.wait(0.1)
    assert retired(world) == [number]
    world.bring("a")
    assert starts(world) == 2
    assert hands(world)[-1] == (2, (2,))


def test_a_busy_worker_is_not_idle_and_a_surplus_goes_cold() -> None:
    world = World(one_stage(parallelism=2, queue_limit=2))
    world.start()
    first = world.employ("a", count=2)
    second = world.employ("a", count=2)
    for number in (first, second):
        world.answer(number, count=2)
    world.run()
    for _ in range(3):
        world.wait(2.0)
        world.bring("a")
        world.answer(first)
        world.run()
    assert retired(world) == [second]


def test_the_end_of_an_idle_worker_is_no_news() -> None:
    world = World(one_stage())
    world.start()
    number = world.employ("a")
    world.answer(number)
    world.run()
    world.wait(5.0)
    world.die(number, code=1)
    world.run()
    assert not world.notes
    world.bring("a")
    assert starts(world) == 2


def test_a_worker_that_has_done_its_share_is_replaced_once_its_pipeline_has_drained() -> None:
    world = World(one_stage(parallelism=1, queue_limit=2, max_messages=5))
    world.start()
    number = world.employ("a", count=2)
    world.inject("a", count=8)
    world.answer(number, count=2)
    world.run()
    assert world.children[number].line == [3, 4]
    world.answer(number, count=2)
    world.run()
    assert world.children[number].line == [5], "the jitter, a half of a fifth here, makes no whole message more"
    assert not retired(world)
    world.answer(number)
    world.run()
    assert retired(world) == [number]
    assert starts(world) == 1, "the other one counts until it is gone"
    world.die(number, code=0)
    world.run()
    assert starts(world) == 2
    assert hands(world)[-1] == (2, (6, 7))


@pytest.mark.parametrize("extra", [0, 1])
def test_a_share_is_counted_in_ids_handed_over(extra: int) -> None:
    world = World(one_stage(parallelism=1, queue_limit=1, max_messages=1))
    world.start()
    number = world.employ("a", count=1 + extra)
    world.answer(number)
    world.run()
    assert retired(world) == [number]


@pytest.mark.parametrize(
    "event",
    [
        events.WorkerReady(99),
        events.Answered(99, (Status(code=0),)),
        events.Garbled(99, "nonsense"),
        events.WorkerGone(worker=99, code=0),
        events.WorkerNotStarted(99, "nowhere"),
    ],
)
def test_reports_of_workers_that_nobody_knows_any_more_change_nothing(event: events.Event) -> None:
    world = World()
    world.start()
    world.employ("a")
    before = [held.key for held in world.engine.holdings()]
    out = world.engine.handle([event], world.now)
    assert not [command for command in out if not isinstance(command, commands.Claim)]
    assert [held.key for held in world.engine.holdings()] == before
