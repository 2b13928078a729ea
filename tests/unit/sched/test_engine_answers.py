"""What an answer leads to, and what is counted of it."""

from typing import Any

import pytest

from pepsi.model.row import RowStatus
from pepsi.model.status import Fused
from pepsi.sched import commands, events
from pepsi.sched.statistics import StageCounts
from tests.unit.sched.world import World, one_stage


def at_work(count: int = 1, **settings: Any) -> tuple[World, int]:
    world = World(one_stage(parallelism=1, queue_limit=4), **settings)
    world.start()
    return world, world.employ("a", count=count)


def counts(world: World) -> dict[str, StageCounts]:
    """Let the statistics be flushed, and return them."""
    world.wait(60.0)
    return dict(world.flushed[-1].deltas.stages)


def test_success_writes_nothing() -> None:
    world, number = at_work()
    world.answer(number)
    world.run()
    assert not world.wanted(commands.Settle)
    assert not world.engine.holdings()


def test_74_pauses_the_message_without_blame_and_warns() -> None:
    world, number = at_work()
    world.answer(number, 74)
    world.run()
    assert world.rows[1].status is RowStatus.PAUSED
    assert world.rows[1].due == world.now + 33.0
    assert not world.rows[1].strikes
    (note,) = world.wanted(commands.Note)
    assert note.level == "warn"
    assert "message 1 waits at a" in world.notes[0]
    assert not world.children[number].doomed


def test_a_message_that_keeps_answering_74_is_tried_as_long_as_it_takes() -> None:
    world, number = at_work(worker_idle_timeout=100.0)
    for _ in range(50):
        world.answer(number, 74)
        world.run()
        world.wait(34.0)
        assert world.children[number].line == [1]
    assert not world.rows[1].strikes


def test_75_gives_the_message_back_and_its_stage_is_left_alone_for_a_moment() -> None:
    world, number = at_work()
    world.answer(number, 75)
    world.run()
    assert world.rows[1].status is RowStatus.PENDING
    claims = len(world.wanted(commands.Claim))
    world.wake()
    assert len(world.wanted(commands.Claim)) == claims
    world.wait(0.5)
    assert world.children[number].line == [1]


def test_the_hold_off_doubles_up_to_half_a_minute_and_a_success_does_not_shorten_it() -> None:
    world, number = at_work(worker_idle_timeout=100.0)
    pauses = []
    for _ in range(8):
        world.answer(number, 75)
        world.run()
        before = world.now
        world.wait_for(lambda: world.children[number].line)
        pauses.append(world.now - before)
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    world.answer(number)
    world.run()
    world.bring("a")
    world.answer(number, 75)
    world.run()
    assert "for 30 s" in world.notes[-1]


def test_the_hold_off_is_short_again_after_a_quiet_minute() -> None:
    world, number = at_work(worker_idle_timeout=1000.0)
    for pause in (0.5, 1.0, 2.0):
        world.answer(number, 75)
        world.run()
        assert f"for {pause:g} s" in world.notes[-1]
        world.wait(pause)
    world.answer(number)
    world.run()
    world.wait(60.0)
    world.bring("a")
    world.answer(number, 75)
    world.run()
    assert "for 0.5 s" in world.notes[-1]


def test_a_message_that_keeps_answering_75_does_not_spin_while_others_of_its_stage_go_through() -> None:
    world, number = at_work(worker_idle_timeout=1000.0)
    (poison,) = world.children[number].line
    tries = 0
    until = world.now + 600.0
    while world.now < until:
        refused = world.children[number].line[:1] == [poison]
        tries += refused
        world.answer(number, 75 if refused else 0)
        world.inject("a")
        world.run()
        world.wait(0.5)
    assert tries < 30
    assert len(world.done) > 15


def test_any_other_answer_fails_the_message_and_keeps_the_worker() -> None:
    world, number = at_work(2)
    world.answer(number, 65, reason="no such user")
    world.run()
    assert world.rows[1].status is RowStatus.FAILED
    assert world.rows[1].state == {
        "last_error": "no such user",
        "failed_stage": "a",
        "failure_class": "permanent",
    }
    assert world.notes == ["message 1 failed at a: no such user"]
    assert world.children[number].line == [2]
    assert not world.children[number].doomed


def test_a_report_that_was_dropped_is_warned_of_and_the_status_stands() -> None:
    world, number = at_work()
    world.answer(number, warning="unreadable report dropped")
    world.run()
    assert world.notes == [f"worker {number} of a: unreadable report dropped"]
    assert not world.engine.holdings()


def test_each_step_of_a_message_is_noted_only_when_somebody_reads_it() -> None:
    for trace in (False, True):
        world, number = at_work(trace=trace)
        world.now += 0.25
        world.answer(number)
        world.run()
        assert world.notes == (["message 1 answered 0 at a after 250.0 ms"] if trace else [])


# Statistics


def test_answers_of_one_read_share_the_time_since_the_last_one() -> None:
    world, number = at_work(3)
    world.now += 0.375
    world.answer(number, count=3)
    world.run()
    assert counts(world) == {"a": StageCounts(messages=3, microseconds=375_000)}
    assert world.flushed[-1].deltas.passes == 3


def test_fused_stages_are_counted_under_their_own_names_and_the_pass_once() -> None:
    world = World()
    world.start()
    number = world.employ("a")
    world.now += 0.015625
    world.answer(number, report=(Fused("b", 4_000), Fused("unheard-of", 1_000)))
    world.run()
    assert counts(world) == {
        "a": StageCounts(messages=1, microseconds=10_625),
        "b": StageCounts(messages=1, microseconds=4_000),
    }
    assert world.flushed[-1].deltas.passes == 1


def test_a_message_that_failed_in_a_chain_counts_as_failed_at_the_stage_that_failed() -> None:
    world = World()
    world.start()
    number = world.employ("a")
    world.answer(number, 65, report=(Fused("b", 10),))
    world.run()
    assert (counts(world)["a"].failures, counts(world)["b"].failures) == (0, 1)
    assert world.notes == ["message 1 failed at b: answered 65"]


def test_a_failure_at_a_stage_that_nobody_knows_counts_where_the_message_was_claimed() -> None:
    world = World()
    world.start()
    number = world.employ("a")
    world.answer(number, 65, report=(Fused("unheard-of", 10),))
    world.run()
    assert counts(world)["a"].failures == 1


def test_a_report_of_more_time_than_passed_makes_nothing_negative() -> None:
    world = World()
    world.start()
    number = world.employ("a")
    world.answer(number, report=(Fused("b", 10**9),))
    world.run()
    assert counts(world)["a"].microseconds == 0


@pytest.mark.parametrize(("code", "counted"), [(74, (2, 0)), (75, (0, 2))])
def test_an_answer_that_the_database_is_away_is_counted_in_memory_alone(code: int, counted: tuple[int, int]) -> None:
    world, number = at_work(2, stats_interval=1.0)
    world.now += 0.5
    world.answer(number, code, count=2, report=(Fused("b", 4_000),))
    world.run()
    memory = world.engine.gauges(world.now).stages[0].memory
    assert (memory.io_errors, memory.temporary_failures) == counted
    world.wait(10.0)
    for flush in world.flushed:
        assert flush.deltas.passes == 0
        assert all((part.messages, part.microseconds) == (0, 0) for part in flush.deltas.stages.values())


def test_workers_that_start_and_those_that_fail_to_are_counted_in_memory() -> None:
    world, number = at_work()
    world.die(number, signal=9)
    world.run()
    world.faults["start"] = ["undone"]
    world.bring("a")
    world.wait(2.0)
    memory = world.engine.gauges(world.now).stages[0].memory
    assert (memory.workers_started, memory.failed_starts) == (3, 1)


def test_the_log_is_told_once_an_interval_what_was_done_and_at_the_end() -> None:
    world, number = at_work(stats_interval=60.0, worker_idle_timeout=1000.0)
    world.now += 0.5
    world.answer(number)
    world.run()
    world.wait(10.0)
    assert len(world.flushed) == 1
    assert not world.notes
    world.wait(60.0)
    world.bring("a")
    world.answer(number, 5)
    world.run()
    world.wait(10.0)
    assert "2 passes, 1 messages failed; a: 2 messages, 1 failures in 0.5 s of work" in world.notes[-1]
    world.bring("a")
    world.answer(number)
    world.run()
    world.tell(events.StopRequested())
    world.die(number, code=0)
    world.run()
    assert "1 passes, 0 messages failed; a: 1 messages in" in world.notes[-1]


def test_failures_strikes_crashes_hangs_and_requeues_are_counted() -> None:
    world = World(one_stage(parallelism=2, queue_limit=2, max_runtime=20.0), stats_interval=1000.0)
    world.start()
    first = world.employ("a", count=2)
    second = world.employ("a", count=2)
    world.answer(first, 5)
    world.run()
    world.die(first, signal=9)
    world.run()
    world.wait(20.0)
    world.die(second, signal=9)
    world.run()
    world.wait(1000.0)
    total = world.flushed[0].deltas
    assert total.stages["a"].failures == 1
    assert total.stages["a"].strikes == 2
    assert total.stages["a"].crashes == 1
    assert total.stages["a"].timeouts == 1
    assert total.stages["a"].requeues == 1
    assert (total.passes, total.failed) == (1, 1)


def test_74_and_75_are_neither_counted_as_messages_nor_measured() -> None:
    world, number = at_work(count=4)
    world.now += 1.0
    world.answer(number, 74, count=2)
    world.answer(number, 75, count=2)
    world.run()
    world.wait(60.0)
    assert not world.flushed
