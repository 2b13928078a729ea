"""How workers end, and who is to blame: the head of the line at most, its companions never."""

import pytest

from pepsi.model.row import RowStatus
from pepsi.model.status import Status
from pepsi.sched import commands, events
from tests.unit.sched.world import World, one_stage

PENDING, PAUSED, RUNNING = RowStatus.PENDING, RowStatus.PAUSED, RowStatus.RUNNING


def at_work(count: int = 3, max_runtime: float = 20.0) -> tuple[World, int]:
    """One stage with one worker, which is ready and holds *count* ids."""
    world = World(one_stage(parallelism=2, queue_limit=4, max_runtime=max_runtime))
    world.start()
    number = world.employ("a", count=count)
    return world, number


def starting(count: int = 3) -> tuple[World, int]:
    """The same, but the worker has not said ``ready``."""
    world = World(one_stage(parallelism=2, queue_limit=4, max_runtime=20.0))
    world.start()
    world.bring("a", count=count)
    (number,) = world.children
    return world, number


def settlements(world: World) -> list[tuple[int, RowStatus]]:
    """All writes so far, by id and status."""
    return [
        (write.workqueue_id, write.status) for settle in world.wanted(commands.Settle) for write in settle.settlements
    ]


def strikes(world: World) -> dict[int, int]:
    return {number: row.strikes for number, row in world.rows.items() if row.strikes}


# Crashes


@pytest.mark.parametrize("end", [{"signal": 9}, {"signal": 11}, {"code": 0}, {"code": 1}, {"code": 75}])
def test_a_crash_strikes_the_head_and_gives_its_companions_back(end: dict[str, int]) -> None:
    world, number = at_work(3)
    world.die(number, **end)
    world.deliver()
    assert settlements(world) == [(1, PAUSED), (2, PENDING), (3, PENDING)]
    assert strikes(world) == {1: 1}
    assert str(next(iter(end.values()))) in world.rows[1].state["last_error"]


def test_the_head_is_the_oldest_id_without_an_answer() -> None:
    world, number = at_work(3)
    world.answer(number)
    world.run()
    world.die(number, signal=9)
    world.deliver()
    assert strikes(world) == {2: 1}
    assert 1 in world.done


def test_a_crash_between_two_messages_strikes_nobody() -> None:
    world, number = at_work(1)
    world.answer(number)
    world.run()
    world.die(number, signal=9)
    world.run()
    assert not settlements(world)
    assert not strikes(world)


def test_a_worker_that_committed_before_it_died_costs_its_message_nothing() -> None:
    world, number = at_work(1)
    world.answer(number)
    world.reports.clear()  # the answer never left the worker's buffer
    world.die(number, signal=9)
    world.run()
    assert settlements(world) == [(1, PAUSED)]
    assert world.done == {1: 1}
    assert not world.engine.holdings()


def test_a_message_is_tried_again_after_its_first_and_second_strike_and_fails_at_the_third() -> None:
    world, number = at_work(1)
    for count, pause in ((1, 66.0), (2, 132.0)):
        world.die(number, signal=9)
        world.run()
        assert (world.rows[1].status, world.rows[1].strikes) == (PAUSED, count)
        assert world.rows[1].due == world.now + pause
        world.wait(pause + 1.0)
        number = world.tend()
        assert world.children[number].line == [1]
    world.die(number, signal=9)
    world.run()
    assert (world.rows[1].status, world.rows[1].strikes) == (RowStatus.FAILED, 3)
    assert world.rows[1].state["failed_stage"] == "a"


def test_a_crash_starts_a_new_worker_for_what_waits_at_once() -> None:
    world, number = at_work(2)
    world.die(number, signal=9)
    world.run()
    assert world.wanted(commands.Hand)[-1] == commands.Hand(2, (2,))


# Hangs


def test_a_head_without_an_answer_for_max_runtime_is_killed_and_struck_and_its_companions_are_not() -> None:
    world, number = at_work(3)
    world.wait(19.9)
    assert not world.wanted(commands.Kill)
    world.wait(0.1)
    assert world.wanted(commands.Kill) == [commands.Kill(number)]
    assert not settlements(world), "it is not dead yet"
    assert len(world.engine.holdings()) == 3
    world.die(number, signal=9)
    world.deliver()
    assert settlements(world) == [(1, PAUSED), (2, PENDING), (3, PENDING)]
    assert world.rows[1].state == {"strikes": 1, "last_error": "no answer within 20 s"}


def test_a_message_that_hangs_three_times_ends_as_timeout() -> None:
    world, number = at_work(1)
    for _ in range(2):
        world.wait(20.0)
        world.die(number, signal=9)
        world.run()
        assert world.rows[1].status is PAUSED
        world.wait_for(lambda: world.children)
        number = world.tend()
    world.wait(20.0)
    world.die(number, signal=9)
    world.run()
    assert world.rows[1].status is RowStatus.TIMEOUT
    assert world.rows[1].state["failure_class"] == "timed-out"


def test_each_message_has_max_runtime_from_when_it_reached_the_head() -> None:
    world, number = at_work(3)
    for _ in range(2):
        world.wait(15.0)
        world.answer(number)
        world.run()
    world.wait(19.9)
    assert not world.wanted(commands.Kill)
    world.wait(0.1)
    assert world.wanted(commands.Kill) == [commands.Kill(number)]


def test_the_time_before_ready_is_not_the_messages() -> None:
    world, number = starting(1)
    world.wait(15.0)
    world.ready(number)
    world.run()
    world.wait(19.9)
    assert not world.wanted(commands.Kill)
    world.wait(0.1)
    assert world.wanted(commands.Kill)


def test_an_idle_worker_never_hangs() -> None:
    world, number = at_work(1, max_runtime=2.0)
    world.answer(number)
    world.run()
    world.wait(4.0)
    world.bring("a")
    world.wait(1.9)
    assert not world.wanted(commands.Kill)


def test_an_answer_in_the_same_turn_comes_before_the_deadline() -> None:
    world, number = at_work(1)
    world.answer(number)
    world.now += 20.0
    world.run()
    assert not world.wanted(commands.Kill)


def test_late_answers_of_a_killed_worker_are_not_heard() -> None:
    world, number = at_work(3)
    world.wait(20.0)
    world.answer(number, 255, count=2)
    world.run()
    assert not settlements(world)
    world.die(number, signal=9)
    world.deliver()
    assert settlements(world) == [(1, PAUSED), (2, PENDING), (3, PENDING)]


def test_who_cannot_be_killed_keeps_its_ids_and_its_slots_with_one_alarm() -> None:
    world, number = at_work(4)
    world.wait(200.0)
    assert len(world.engine.holdings()) == 4
    assert [note for note in world.notes if "cannot be killed" in note] == [
        f"worker {number} of a cannot be killed; its messages stay with it: [1, 2, 3, 4]"
    ]
    world.inject("a", count=20)
    world.wake()
    assert world.room_asked_for[-1] == {"a": 4}
    world.run()
    assert len(world.children) == 2


# Ends before anything was done


def test_a_death_before_ready_blames_nobody() -> None:
    world, number = starting(3)
    world.die(number, code=1)
    world.deliver()
    assert settlements(world) == [(1, PENDING), (2, PENDING), (3, PENDING)]
    assert "did not get ready (the worker ended with exit status 1); no new one is started for 1 s" in world.notes[0]


def test_not_being_ready_within_max_runtime_is_the_same() -> None:
    world, number = starting(2)
    world.wait(19.9)
    assert not world.wanted(commands.Kill)
    world.wait(0.1)
    assert world.wanted(commands.Kill) == [commands.Kill(number)]
    world.die(number, signal=9)
    world.deliver()
    assert settlements(world) == [(1, PENDING), (2, PENDING)]
    assert "it was not ready within 20 s" in world.notes[-1]


def test_a_program_that_cannot_be_started_is_the_same_with_its_own_words() -> None:
    world = World(one_stage())
    world.start()
    world.faults["start"] = ["undone"]
    world.inject("a", count=2)
    world.wake()
    world.deliver()
    world.deliver()
    assert settlements(world) == [(1, PENDING), (2, PENDING)]
    assert "no such program" in world.notes[0]


def test_exit_78_before_any_answer_is_the_same_ready_or_not_and_names_the_cause() -> None:
    for make in (starting, at_work):
        world, number = make(2)
        world.die(number, code=78)
        world.deliver()
        assert settlements(world) == [(1, PENDING), (2, PENDING)]
        assert "its configuration or the schema is not what it expects" in world.notes[0]


def test_exit_78_after_an_answer_is_a_crash() -> None:
    world, number = at_work(2)
    world.answer(number)
    world.run()
    world.die(number, code=78)
    world.deliver()
    assert strikes(world) == {2: 1}


def test_exit_75_before_ready_holds_the_claims_off_and_starts_no_cooldown() -> None:
    world, number = starting(2)
    world.die(number, code=75)
    world.run()
    assert not strikes(world)
    assert "found no free database connection" in world.notes[0]
    assert "max_connections" in world.notes[0]
    assert [row.status for row in world.rows.values()] == [PENDING, PENDING]
    world.wake()
    assert len(world.wanted(commands.Start)) == 1
    world.wait(0.5)
    assert len(world.wanted(commands.Start)) == 2


def test_the_pause_between_starts_doubles_up_to_a_minute_while_none_gets_ready() -> None:
    world, number = starting(1)
    pauses = []
    for _ in range(8):
        world.die(number, code=1)
        world.run()
        died = world.now
        world.wait_for(lambda: world.children)
        pauses.append(world.now - died)
        (number,) = world.children
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    world.ready(number)
    world.run()
    world.answer(number)
    world.run()
    world.die(number, code=1)
    world.run()
    world.bring("a")
    (number,) = world.children
    world.die(number, code=1)
    world.run()
    assert "no new one is started for 1 s" in world.notes[-1]


def test_while_no_worker_may_be_started_the_ready_ones_go_on() -> None:
    world, first = at_work(4)
    world.bring("a", count=2)
    (second,) = set(world.children) - {first}
    world.die(second, code=1)
    world.run()
    assert not strikes(world)
    world.answer(first, count=4)
    world.run()
    assert sorted(world.children[first].line) == [5, 6]


# Broken protocol


def test_an_unreadable_answer_is_a_crash_at_its_place_in_the_line() -> None:
    world, number = at_work(3)
    world.answer(number)
    world.garble(number)
    world.run()
    assert world.wanted(commands.Kill) == [commands.Kill(number)]
    assert "broke the protocol: nonsense" in world.notes[0]
    assert not settlements(world)
    world.die(number, signal=9)
    world.deliver()
    assert settlements(world) == [(2, PAUSED), (3, PENDING)]
    assert world.rows[2].state["last_error"] == "nonsense"


def test_nonsense_before_ready_blames_nobody() -> None:
    world, number = starting(2)
    world.garble(number)
    world.run()
    assert world.wanted(commands.Kill) == [commands.Kill(number)]
    world.die(number, signal=9)
    world.deliver()
    assert settlements(world) == [(1, PENDING), (2, PENDING)]


def test_an_answer_too_many_costs_the_worker_its_life_and_blames_nobody() -> None:
    world, number = at_work(1)
    world.answer(number)
    world.reports = [events.Answered(number, (Status(code=0), Status(code=0)))]
    world.run()
    assert world.wanted(commands.Kill) == [commands.Kill(number)]
    assert world.done == {1: 1}
    world.die(number, signal=9)
    world.run()
    assert not settlements(world)
    assert "it answered for an id that it does not hold" in world.notes[0]


# Workers that work in batches


def at_batch_work(count: int) -> tuple[World, int]:
    """A worker that may be at any of the *count* messages in its pipe."""
    world = World(one_stage(parallelism=2, queue_limit=4))
    world.start()
    number = world.employ("a", count=count)
    world.tell(events.WorkerReady(number, batch=True))
    return world, number


def test_when_a_batch_crashes_nobody_is_struck_and_each_is_tried_alone() -> None:
    world, number = at_batch_work(3)
    world.die(number, signal=9)
    world.run()
    world.tend()
    assert [row.strikes for row in world.rows.values()] == [0, 0, 0]
    assert [row.state for row in world.rows.values()] == [{"suspect": True}] * 3, "its worker is told by the row"
    assert sorted(len(child.line) for child in world.children.values()) == [1, 1]


def test_a_message_that_crashes_alone_takes_the_strike() -> None:
    world, number = at_batch_work(1)
    world.die(number, signal=9)
    world.run()
    assert [row.strikes for row in world.rows.values()] == [1]


def test_companions_of_a_message_that_crashed_are_no_suspects_where_the_worker_takes_one_after_the_other() -> None:
    world, number = at_work(3)
    world.die(number, signal=9)
    world.run()
    assert [row.state for row in list(world.rows.values())[1:]] == [{}, {}]


def test_a_suspect_is_cleared_by_its_answer() -> None:
    world, number = at_batch_work(2)
    world.die(number, signal=9)
    world.run()
    world.settle_down()
    assert world.done == {1: 1, 2: 1}
    assert not world.struck
