"""Senders take turns: what is asked for, who is handed out first, what is charged."""

import pytest

from pepsi.model.status import Fused
from pepsi.sched import commands, events
from pepsi.sched.commands import Want
from pepsi.simulate.table import Row
from tests.unit.sched.world import World, one_stage


def world_with(*, parallelism: int = 4, queue_limit: int = 4, **more: object) -> World:
    world = World(one_stage(parallelism=parallelism, queue_limit=queue_limit), fair=True, **more)
    world.start()
    return world


def bring(world: World, sender: str, count: int = 1) -> int:
    last = world.inject("a", count, sender)
    world.wake()
    world.run()
    return last


def last_want(world: World) -> Want:
    (want,) = world.wanted(commands.Claim)[-1].wants
    return want


def work_off(world: World, seconds: float, rounds: int) -> None:
    """All that are ready answer what they have, *seconds* after they got it, *rounds* times."""
    for _ in range(rounds):
        world.now += seconds
        for number, child in list(world.children.items()):
            if child.life == "starting":
                world.ready(number)
            elif child.line:
                world.answer(number)
            elif child.asked:
                world.die(number, code=0)
        world.run()


def at_work(world: World) -> list[str]:
    """Whose mail each worker has in its pipe."""
    senders = {held.workqueue_id: held.sender for held in world.engine.holdings()}
    return sorted(senders[number] for child in world.children.values() for number in child.line)


def bulk(world: World, seconds: float = 0.02) -> World:
    """One sender with much mail keeps all workers at work, *seconds* with each message."""
    bring(world, "bulk", 2000)
    work_off(world, seconds, 40)
    return world


def test_the_oldest_rows_have_their_share() -> None:
    world = bulk(world_with())
    wants = [claim.wants[0] for claim in world.wanted(commands.Claim)]
    rows = sum(want.capacity for want in wants)
    assert sum(want.fifo for want in wants) == pytest.approx(rows / 10, abs=3)


def test_a_claim_says_what_each_sender_has_had_and_what_a_message_takes() -> None:
    world = world_with()
    bring(world, "x", 1)
    work_off(world, 0.5, 3)
    bring(world, "y", 1)
    want = last_want(world)
    assert 0.01 < want.average < 0.5
    assert [(sender.key, sender.lead > 0) for sender in want.senders] == [("x", True)]


def test_where_mail_is_slow_little_is_claimed_and_handed_out_ahead_of_time() -> None:
    world = bulk(world_with())
    assert [len(child.line) for child in world.children.values()] == [1, 1, 1, 1]
    assert len(world.engine.holdings()) <= 8


def test_where_mail_is_quick_pipes_are_full() -> None:
    world = bulk(world_with(), seconds=0.0001)
    assert max(world.room_asked_for[-1].values()) >= 8
    assert len(world.engine.holdings()) > 8


def test_who_is_alone_has_all_workers() -> None:
    assert at_work(bulk(world_with())) == ["bulk"] * 4


def test_mail_of_somebody_else_goes_first_and_from_then_on_finds_a_worker_free() -> None:
    world = bulk(world_with())
    bring(world, "light")
    work_off(world, 0.02, 1)
    assert "light" in at_work(world)
    work_off(world, 0.02, 3)
    assert at_work(world) == ["bulk"] * 3
    bring(world, "light")
    assert at_work(world) == ["bulk"] * 3 + ["light"]


def test_when_the_others_have_not_come_for_a_half_life_all_workers_work_again() -> None:
    world = bulk(world_with(fair_half_life=1.0))
    bring(world, "light")
    work_off(world, 0.02, 10)
    assert at_work(world) == ["bulk"] * 3
    work_off(world, 0.02, 60)
    assert at_work(world) == ["bulk"] * 4


def test_however_long_use_is_remembered_nobody_is_waited_for_longer_than_a_minute() -> None:
    world = bulk(world_with(fair_half_life=86_400.0))
    bring(world, "light")
    work_off(world, 0.5, 20)
    assert at_work(world) == ["bulk"] * 3
    work_off(world, 0.5, 120)
    assert at_work(world) == ["bulk"] * 4


def test_a_stage_with_one_worker_keeps_none_free() -> None:
    world = bulk(world_with(parallelism=1))
    bring(world, "light")
    work_off(world, 0.02, 5)
    assert at_work(world) == ["bulk"]


def test_the_worker_that_is_kept_free_is_not_always_the_same() -> None:
    world = bulk(world_with())
    bring(world, "light")
    before = set(world.children)
    for _ in range(100):
        work_off(world, 0.1, 1)
    assert set(world.children) == before


def test_two_senders_share_the_time_of_workers_by_what_their_mail_takes() -> None:
    world = world_with(parallelism=1)
    for _ in range(400):
        world.inject("a", 1, "cheap")
        world.inject("a", 1, "dear")
    world.wake()
    world.run()
    spent = {"cheap": 0.0, "dear": 0.0}
    for _ in range(400):
        for number, child in list(world.children.items()):
            if child.life == "starting":
                world.ready(number)
            elif child.line:
                sender = world.rows[child.line[0]].sender
                seconds = 0.1 if sender == "dear" else 0.02
                world.now += seconds
                spent[sender] += seconds
                world.answer(number)
        world.run()
    # A tenth of the rows goes by age, to the dear ones as often as to the cheap ones.
    assert spent["dear"] / spent["cheap"] < 1.8


def lead(world: World, sender: str) -> float:
    return world.engine._books.fairness.at("a", world.now).leads.lead(sender, world.now)


def test_a_message_that_hangs_costs_its_sender_the_longest_time() -> None:
    world = world_with(parallelism=1)
    bring(world, "x")
    number = world.tend()
    world.wait(300.0)
    world.die(number, signal=9)
    world.run()
    assert lead(world, "x") == pytest.approx(300.0)


def test_a_pass_through_several_stages_costs_its_sender_all_of_its_time_where_it_was_claimed() -> None:
    world = world_with(parallelism=1)
    bring(world, "x")
    number = world.tend()
    world.now += 0.5
    world.answer(number, report=(Fused("b", 400_000),))
    world.run()
    assert lead(world, "x") == pytest.approx(0.5, abs=0.02)


def test_what_was_not_run_costs_nothing() -> None:
    world = world_with(parallelism=1)
    bring(world, "x", 2)
    number = world.tend()
    world.now += 0.5
    world.die(number, signal=11)
    world.deliver()
    assert lead(world, "x") == pytest.approx(0.5, abs=0.02)
    assert world.engine._books.fairness.at("a", world.now).leads.open == 0


def test_answers_that_come_together_share_their_time() -> None:
    world = world_with(parallelism=1)
    bulk(world, seconds=0.001)
    world.now += 0.4
    (number,) = world.children
    count = len(world.children[number].line)
    before = lead(world, "bulk")
    world.answer(number, count=count)
    world.deliver()
    assert count > 1
    assert lead(world, "bulk") - before == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("fair", [True, False])
@pytest.mark.parametrize("code", [74, 75])
def test_an_old_row_that_is_returned_is_found_below_the_floor(fair: bool, code: int) -> None:
    world = World(one_stage(parallelism=2, queue_limit=2), fair=fair, poll_interval=10_000.0)
    world.start()
    bring(world, "x", 4000)
    work_off(world, 0.05, 20)
    old = min(number for child in world.children.values() for number in child.line)
    (number,) = [number for number, child in world.children.items() if old in child.line]
    if code == 75:
        world.table.locks.add(old)
    world.answer(number, code)
    world.run()
    work_off(world, 0.05, 900)
    world.table.locks.clear()
    world.wait(40.0)
    work_off(world, 0.01, 30)
    assert old not in world.rows, "it was returned late, and claimed again"


def hide(world: World, number: int) -> Row:
    row = world.rows[number]
    world.table.delete(number)
    return row


def show(world: World, number: int, row: Row) -> None:
    world.rows[number] = row
    world.table.waiting(row.stage).add(number, row.sender)


@pytest.mark.parametrize("fair", [True, False])
def test_a_row_that_commits_late_is_found_within_a_second(fair: bool) -> None:
    world = World(one_stage(parallelism=2, queue_limit=2), fair=fair)
    world.start()
    bring(world, "x", 2000)
    late = world.inject("a")
    row = hide(world, late)
    bring(world, "x", 2000)
    while late > last_want(world).floor:
        work_off(world, 0.01, 1)
    show(world, late, row)
    work_off(world, 0.01, 150)
    assert late not in world.rows


def test_where_no_row_is_taken_for_its_age_one_that_commits_late_is_found_within_seconds() -> None:
    world = world_with(parallelism=2, queue_limit=2, fair_fifo_percent=0, poll_interval=86_400.0)
    bring(world, "x", 500)
    late = world.inject("a", 1, "x")
    row = hide(world, late)
    bring(world, "x", 4000)
    floors = {sender.key: sender.floor for sender in last_want(world).senders}
    while late > floors.get("x", 0):
        work_off(world, 0.01, 1)
        floors = {sender.key: sender.floor for sender in last_want(world).senders}
    show(world, late, row)
    work_off(world, 0.01, 800)
    assert late not in world.rows


@pytest.mark.parametrize("fair", [True, False])
def test_a_row_that_somebody_moves_by_hand_is_found_at_once(fair: bool) -> None:
    world = World(one_stage(parallelism=2, queue_limit=2), fair=fair)
    world.start()
    by_hand = world.inject("a")
    row = hide(world, by_hand)
    bring(world, "x", 4000)
    work_off(world, 0.05, 300)
    assert last_want(world).floor > by_hand
    show(world, by_hand, row)
    world.tell(events.Woken(events.Wake.REPAIR))
    world.run()
    work_off(world, 0.01, 20)
    assert by_hand not in world.rows


def test_all_windows_have_their_turn() -> None:
    world = world_with(parallelism=1, queue_limit=1)
    for number in range(100):
        world.inject("a", 3, f"s{number:02}")
    world.wake()
    world.run()
    work_off(world, 0.01, 101)
    had = {row.sender for row in world.rows.values()}
    left = [sum(row.sender == sender for row in world.rows.values()) for sender in sorted(had)]
    assert max(left) - min(left) <= 3
    assert len({claim.wants[0].after for claim in world.wanted(commands.Claim)}) > 20
