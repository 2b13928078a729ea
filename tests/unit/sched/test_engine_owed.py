"""What is owed the database is written when it can be, and counts as in flight until then."""

from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


def owing(count: int = 3) -> tuple[World, int]:
    """The database is away, and the settlements of *count* failed messages have just been refused by it."""
    world = World(one_stage(parallelism=1, queue_limit=4, max_runtime=300.0), worker_idle_timeout=1000.0)
    world.start()
    number = world.employ("a", count=count)
    world.outage = True
    world.answer(number, 5, count=count)
    world.run()
    return world, number


def settles(world: World) -> int:
    return len(world.wanted(commands.Settle))


def test_one_write_is_under_way_and_what_comes_meanwhile_goes_with_the_next() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4))
    world.start()
    number = world.employ("a", count=3)
    for _ in range(3):
        world.answer(number, 5)
        world.tell(world.reports.pop())
    assert [len(settle.settlements) for settle in world.wanted(commands.Settle)] == [1]
    world.run()
    assert [len(settle.settlements) for settle in world.wanted(commands.Settle)] == [1, 2]


def test_through_an_outage_a_write_is_tried_again_ever_more_slowly_and_never_given_up() -> None:
    world, _ = owing()
    tried = settles(world)
    world.wait(30.0)
    assert 4 <= settles(world) - tried <= 6
    tried = settles(world)
    world.wait(3600.0)
    assert 115 <= settles(world) - tried <= 125
    assert len(world.engine.holdings()) == 3
    world.outage = False
    world.regain_lock()
    world.run()
    assert [row.status for row in world.rows.values()] == [RowStatus.FAILED] * 3
    assert not world.engine.holdings()


def test_what_is_owed_counts_as_in_flight() -> None:
    world, _ = owing(3)
    world.tell(events.LockHeld())
    world.inject("a", count=10)
    assert world.room_asked_for[-1] == {"a": 1}


def test_what_is_owed_is_written_at_once_when_the_lock_is_back() -> None:
    world, _ = owing()
    world.wait(300.0)
    world.outage = False
    tried = settles(world)
    world.tell(events.LockHeld())
    assert settles(world) == tried + 1


def test_a_write_that_was_done_but_not_heard_of_is_harmless_when_repeated() -> None:
    world = World(one_stage())
    world.start()
    number = world.employ("a")
    world.faults["settle"] = ["done"]
    world.die(number, signal=9)
    world.run()
    assert world.rows[1].status is RowStatus.PAUSED
    assert world.rows[1].strikes == 1
    world.wait(1.0)
    assert settles(world) == 2
    assert world.rows[1].strikes == 1
    assert not world.engine.holdings()


def test_a_pause_that_waits_to_be_written_is_not_forgotten() -> None:
    world = World(one_stage(), poll_interval=1000.0)
    world.start()
    number = world.employ("a")
    world.outage = True
    world.die(number, signal=9)
    world.run()
    world.wait(200.0)
    world.outage = False
    world.regain_lock()
    world.run()
    due = world.rows[1].due
    assert due is not None
    world.wait(due - world.now + 1.0)
    world.tend()
    assert [child.line for child in world.children.values()] == [[1]]


def test_a_write_that_the_database_refuses_is_found_among_its_companions_and_let_go_with_an_error() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4))
    world.start()
    number = world.employ("a", count=3)
    world.faults["settle"] = ["refused", "ok", "refused", "ok"]
    world.answer(number, 5, count=3)
    world.run()
    written = [[write.workqueue_id for write in settle.settlements] for settle in world.wanted(commands.Settle)]
    assert written == [[1, 2, 3], [1], [2], [3], [2]]
    assert [row.status for row in world.rows.values()] == [RowStatus.FAILED, RowStatus.PAUSED, RowStatus.FAILED]
    assert "the database refuses what is owed for message 2" in world.notes[-1]
    assert not world.engine.holdings()


def test_through_a_long_outage_the_engine_sleeps_most_of_the_time_and_writes_what_it_owes_at_its_end() -> None:
    world = World({**one_stage("a", parallelism=2, queue_limit=3), **one_stage("b", parallelism=1)})
    world.start()
    number = world.employ("a", count=3)
    world.bring("b")
    paused = world.inject("a")
    world.rows[paused].status, world.rows[paused].due = RowStatus.PAUSED, world.now + 60.0
    world.outage = True
    world.tell(events.LockLost())
    world.answer(number, 74)
    world.answer(number, 65)
    world.answer(number, 75)
    world.run()
    turns, until = 0, world.now + 3600.0
    while world.now < until:
        world.now = max(world.now, min(until, world.engine.next_wake))
        world.tell(events.Tick())
        world.run()
        for other, child in list(world.children.items()):
            if child.doomed or child.asked:
                world.die(other, signal=9)
        turns += 1
    assert turns < 600
    assert [row.status for row in world.rows.values()][:3] == [RowStatus.RUNNING] * 3
    assert {held.workqueue_id for held in world.engine.holdings()} >= {1, 2, 3}
    world.settle_down()
    assert world.rows[2].status is RowStatus.FAILED
    assert {1, 3, 4, paused} <= world.done.keys()
