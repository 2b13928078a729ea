"""Without the lock nothing is claimed and nothing handed out; in doubt for long, the workers are killed."""

from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage


def test_nothing_is_claimed_before_the_lock_is_held() -> None:
    world = World()
    world.inject("a")
    world.wake()
    world.wait(100.0)
    assert not world.wanted(commands.Claim)
    assert not world.wanted(commands.AskDue)
    assert not world.wanted(commands.AskRunning)


def test_what_was_claimed_when_the_lock_was_lost_is_handed_out_when_it_is_held_again() -> None:
    world = World()
    world.start()
    world.inject("a", count=2)
    world.wake()
    world.tell(events.LockLost())
    world.deliver()
    assert len(world.engine.holdings()) == 2
    assert not world.wanted(commands.Hand)
    assert not world.wanted(commands.Start)
    world.regain_lock()
    world.run()
    assert world.wanted(commands.Hand) == [commands.Hand(1, (1, 2))]


def test_answers_crashes_and_hangs_are_dealt_with_while_the_lock_is_lost() -> None:
    world = World(one_stage(parallelism=2, queue_limit=2, max_runtime=20.0))
    world.start()
    first, second = world.employ("a", count=2), world.employ("a", count=2)
    world.tell(events.LockLost())
    world.answer(first, 5)
    world.run()
    world.die(first, signal=9)
    world.run()
    world.wait(20.0)
    world.die(second, signal=9)
    world.run()
    assert [row.status for row in world.rows.values()] == [
        RowStatus.FAILED,
        RowStatus.PAUSED,
        RowStatus.PAUSED,
        RowStatus.PENDING,
    ]
    assert len(world.wanted(commands.Start)) == 2


def test_after_a_minute_without_the_lock_the_workers_are_killed_and_nobody_is_blamed() -> None:
    world = World(one_stage(max_runtime=300.0))
    world.start()
    number = world.employ("a", count=2)
    world.tell(events.LockLost())
    world.wait(40.0)
    world.tell(events.LockLost())
    world.wait(19.9)
    assert not world.wanted(commands.Kill)
    world.wait(0.1)
    assert world.wanted(commands.Kill) == [commands.Kill(number)]
    world.die(number, signal=9)
    world.run()
    assert [(row.status, row.strikes) for row in world.rows.values()] == [(RowStatus.PENDING, 0)] * 2
    assert not [note for note in world.notes if "strike" in note]


def test_a_lock_that_is_held_again_ends_the_doubt() -> None:
    world = World(one_stage(max_runtime=300.0))
    world.start()
    world.employ("a")
    for _ in range(3):
        world.tell(events.LockLost())
        world.wait(59.0)
        world.regain_lock()
        world.run()
    world.wait(100.0)
    assert not world.wanted(commands.Kill)


def test_a_claim_of_unknown_outcome_is_not_repeated_before_the_lock_is_held_again() -> None:
    world = World()
    world.start()
    world.inject("a", count=3)
    world.faults["claim"] = ["done"]
    world.wake()
    happened, world.reports = world.reports, []
    world.tell(*happened)
    claims = len(world.wanted(commands.Claim))
    world.wait(10.0)
    assert len(world.wanted(commands.Claim)) == claims
    assert not world.engine.holdings()
    world.regain_lock()
    world.run()
    assert world.wanted(commands.Hand) == [commands.Hand(1, (1, 2, 3))]


def test_a_dispatcher_that_was_replaced_kills_its_workers_touches_no_row_and_exits_1() -> None:
    world = World()
    world.start()
    number = world.employ("a", count=2)
    world.tell(events.Fenced("the database is at epoch 8, this dispatcher's is 7"))
    assert world.wanted(commands.Kill) == [commands.Kill(number)]
    assert "another dispatcher has taken over: the database is at epoch 8" in world.notes[0]
    world.answer(number, 5)
    world.run()
    assert world.exit is None
    world.die(number, signal=9)
    world.run()
    assert world.exit == commands.Exit(1)
    assert not world.wanted(commands.Settle)
    assert all(row.status is RowStatus.RUNNING for row in world.rows.values())


def test_a_replaced_dispatcher_without_workers_exits_at_once() -> None:
    world = World()
    world.start()
    world.tell(events.Fenced("epoch 8"))
    assert world.exit == commands.Exit(1)
    assert world.engine.next_wake == float("inf")
    assert world.tell(events.LockHeld()) == []


def test_an_idle_worker_is_let_go_though_the_lock_is_lost_and_the_engine_sleeps_meanwhile() -> None:
    world = World(one_stage(), worker_idle_timeout=5.0)
    world.start()
    number = world.employ("a")
    world.answer(number)
    world.run()
    world.tell(events.LockLost())
    world.wait(30.0)
    assert world.wanted(commands.Retire) == [commands.Retire(number)]
