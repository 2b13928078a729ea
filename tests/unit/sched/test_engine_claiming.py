"""When the engine claims, how much, and how claimed ids reach the workers."""

import pytest

from pepsi.model.claim import epoch_of
from pepsi.model.row import RowStatus
from pepsi.sched import commands, events
from pepsi.sched.events import Wake
from tests.unit.sched.world import EPOCH, World, one_stage


def claims(world: World) -> list[dict[str, int]]:
    return world.room_asked_for


def claim_under_way(world: World) -> None:
    """Let a claim be made, and not come back."""
    world.wake()
    assert [report for report in world.reports if isinstance(report, events.Claimed)]


def test_the_first_claim_is_for_every_slot_of_every_stage() -> None:
    world = World()
    world.start()
    assert claims(world) == [{"a": 6, "b": 6}]


def test_a_claim_is_for_what_is_free_and_leaves_out_full_stages() -> None:
    world = World()
    world.start()
    world.bring("a", count=6)
    world.bring("b", count=2)
    world.wake()
    assert claims(world)[-1] == {"b": 4}


def test_what_is_owed_takes_a_slot_and_so_does_what_is_parked() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4))
    world.start()
    number = world.employ("a", count=2)
    world.faults["settle"] = ["undone"]
    world.answer(number, 1)
    world.run()
    world.table.repair(2)
    world.wake()
    assert claims(world)[-1] == {"a": 2}, "one is with the worker, one is owed"
    world.run()
    world.wake()
    assert claims(world)[-1] == {"a": 1}, "and one is parked"


def test_every_claim_has_a_token_of_its_own_under_the_epoch() -> None:
    world = World()
    world.start()
    world.bring("a")
    tokens = [claim.token for claim in world.wanted(commands.Claim)]
    assert tokens == sorted(set(tokens))
    assert {epoch_of(token) for token in tokens} == {EPOCH}


@pytest.mark.parametrize("reason", list(Wake))
def test_any_wake_leads_to_a_claim(reason: Wake) -> None:
    world = World()
    world.start()
    before = len(claims(world))
    world.tell(events.Woken(reason))
    assert len(claims(world)) == before + 1


def test_a_tick_alone_does_not() -> None:
    world = World()
    world.start()
    before = len(claims(world))
    world.now += 10.0
    world.tell(events.Tick())
    assert len(claims(world)) == before


def test_the_heartbeat_does() -> None:
    world = World(poll_interval=30.0)
    world.start()
    before = len(claims(world))
    world.wait(29.9)
    assert len(claims(world)) == before
    world.wait(0.1)
    assert len(claims(world)) == before + 1


def test_an_answer_leads_to_a_claim_without_any_other_wake() -> None:
    world = World(one_stage(parallelism=1, queue_limit=2))
    world.start()
    number = world.employ("a")
    world.inject("a", count=2)
    before = len(claims(world))
    world.answer(number)
    world.deliver()
    assert claims(world)[before:] == [{"a": 2}]


def test_a_message_that_was_moved_on_is_claimed_for_its_next_stage_though_nobody_notifies() -> None:
    world = World()
    world.start()
    world.answer(world.employ("a"))
    world.run()
    assert world.wanted(commands.Hand)[-1] == commands.Hand(2, (1,))
    assert world.children[2].stage == "b"


def test_there_is_one_claim_under_way_and_what_happens_meanwhile_goes_with_the_next() -> None:
    world = World()
    world.start()
    number = world.employ("a", count=3)
    claim_under_way(world)
    before = len(claims(world))
    (claimed,) = world.reports
    for _ in range(2):
        world.wake()
        world.answer(number)
        world.tell(world.reports.pop())
    assert len(claims(world)) == before
    world.tell(claimed)
    assert claims(world)[before:] == [{"a": 5, "b": 6}]


def test_all_that_happened_at_once_is_taken_in_before_the_claim() -> None:
    world = World()
    world.start()
    first, second = world.employ("a", count=3), world.employ("a", count=3)
    for number in (first, second):
        world.answer(number, count=2)
    before = len(claims(world))
    happened, world.reports = [*world.reports, events.Woken(Wake.NOTIFIED)], []
    world.tell(*happened)
    assert claims(world)[before:] == [{"a": 4, "b": 6}]


def test_a_claim_that_came_back_full_is_followed_by_another_and_a_short_one_is_not() -> None:
    world = World()
    world.start()
    world.inject("a", count=6)
    world.inject("b", count=5)
    before = len(claims(world))
    world.wake()
    world.run()
    assert claims(world)[before:] == [{"a": 6, "b": 6}, {"b": 1}]


def test_while_a_backlog_is_worked_off_claims_are_grouped_but_no_worker_runs_dry() -> None:
    world = World(one_stage(parallelism=2, queue_limit=4))
    world.start()
    world.bring("a", count=100)
    for number in (1, 2):
        world.ready(number)
    world.run()
    before = len(claims(world))
    for _ in range(3):
        world.answer(1)
        world.run()
    assert len(claims(world)) == before, "both have ids in their pipes"
    world.answer(2)
    world.run()
    assert claims(world)[before:] == [{"a": 4}], "half of the capacity"
    world.answer(1, count=2)
    world.run()
    before = len(claims(world))
    world.answer(2, count=len(world.children[2].line))
    world.run()
    assert len(claims(world)) > before, "one is idle"


def test_ids_are_handed_out_in_the_order_of_the_claim_in_one_write_a_worker() -> None:
    world = World(one_stage(parallelism=2, queue_limit=3))
    world.start()
    world.bring("a", count=6)
    assert world.wanted(commands.Hand) == [commands.Hand(1, (1, 2, 3)), commands.Hand(2, (4, 5, 6))]


def test_the_order_is_that_of_the_claim_even_if_it_is_not_that_of_the_ids() -> None:
    world = World(one_stage(parallelism=1, queue_limit=4))
    world.start()
    world.inject("a", count=3)
    world.wake()
    (claimed,) = world.reports
    assert isinstance(claimed, events.Claimed)
    world.reports = [events.Claimed(token=claimed.token, rows=claimed.rows[::-1])]
    world.run()
    assert world.wanted(commands.Hand) == [commands.Hand(1, (3, 2, 1))]


def test_a_claim_that_failed_is_made_again() -> None:
    world = World()
    world.start()
    world.inject("a")
    world.faults["claim"] = ["undone"]
    world.wake()
    world.run()
    world.regain_lock()
    world.wait(0.2)
    assert world.wanted(commands.Hand) == [commands.Hand(1, (1,))]


# An id that is claimed again while an older worker holds it


def test_an_id_that_is_claimed_again_waits_until_its_older_worker_has_answered() -> None:
    world = World()
    world.start()
    first = world.employ("a")
    world.answer(first)
    answer = world.reports.pop()
    world.wake()
    world.run()
    assert [held.stage for held in world.engine.holdings()] == ["a", "b"], "the row has moved on, the answer is unread"
    assert not [hand for hand in world.wanted(commands.Hand) if hand.worker != first]
    world.tell(answer)
    world.run()
    assert world.wanted(commands.Hand)[-1] == commands.Hand(2, (1,))
    assert world.children[2].stage == "b"


def test_an_id_that_is_claimed_again_waits_until_its_older_worker_is_dead() -> None:
    world = World(one_stage(parallelism=2, queue_limit=1, max_runtime=20.0))
    world.start()
    first = world.employ("a")
    world.table.repair(1)
    world.wake()
    world.run()
    world.wait(25.0)
    assert world.children[first].doomed
    assert len(world.wanted(commands.Hand)) == 1, "it may still be at work"
    world.die(first, signal=9)
    world.run()
    assert world.wanted(commands.Hand)[1:] == [commands.Hand(2, (1,))]
    assert world.rows[1].strikes == 0, "the strike was for a claim that had lost the row"


def test_what_is_owed_for_an_old_claim_never_hits_the_new_one() -> None:
    world = World(one_stage(parallelism=2, queue_limit=1))
    world.start()
    number = world.employ("a")
    world.table.repair(1)
    world.wake()
    world.run()
    world.answer(number, 1)
    world.run()
    assert world.rows[1].status is RowStatus.RUNNING
    assert world.wanted(commands.Hand)[-1].ids == (1,)
    world.answer(number)
    world.run()
    assert world.done == {1: 1}
