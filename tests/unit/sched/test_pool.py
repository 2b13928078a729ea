"""One stage's part: how much it may claim, when a claim is worth its round trip, how long its messages take."""

from pepsi.model.stage import StageSpec
from pepsi.sched.held import Held
from pepsi.sched.pool import FIRST_GUESS, Pool
from pepsi.sched.reserve import Reserve
from pepsi.sched.worker import Life, Worker


def pool(workers: int = 0, life: Life = Life.READY, line: int = 1, **spec: int) -> Pool:
    """A pool of up to four workers with four slots each; *workers* of them run, with *line* ids each."""
    values = {"parallelism": 4, "queue_limit": 4} | spec
    made = Pool(StageSpec(name="a", program="a", **values))  # type: ignore[arg-type]
    for number in range(1, workers + 1):
        worker = Worker(number, "a", since=0.0, quota=100, life=life)
        worker.line.extend(Held(number * 100 + n, 1, "a", strikes=0) for n in range(line))
        made.workers[number] = worker
    return made


def test_a_stage_may_claim_for_all_the_workers_that_it_may_have() -> None:
    assert pool().room(0, now=0.0) == 16
    assert pool().room(5, now=0.0) == 11
    assert pool().room(16, now=0.0) == 0
    assert pool().room(17, now=0.0) == 0


def test_while_no_worker_may_be_started_only_the_ready_ones_are_claimed_for() -> None:
    troubled = pool(workers=2)
    troubled.cooldown.trouble(0.0)
    assert troubled.room(3, now=0.5) == 5
    assert troubled.room(3, now=1.0) == 13
    assert pool(workers=2, life=Life.STARTING).room(3, now=0.0) == 13
    failing = pool(workers=2, life=Life.STARTING)
    failing.cooldown.trouble(0.0)
    assert failing.room(0, now=0.5) == 0


def test_during_a_hold_off_nothing_is_claimed() -> None:
    troubled = pool(workers=2)
    troubled.hold_off.trouble(0.0)
    assert troubled.room(0, now=0.4) == 0
    assert troubled.room(0, now=0.5) == 16


def test_a_worker_may_be_started_up_to_the_parallelism_and_not_in_a_cooldown() -> None:
    assert pool(workers=3).may_start(0.0)
    assert not pool(workers=4).may_start(0.0)
    assert not pool(workers=4, life=Life.KILLED).may_start(0.0)
    troubled = pool()
    troubled.cooldown.trouble(0.0)
    assert not troubled.may_start(0.5)


def test_without_a_backlog_every_free_slot_is_worth_a_claim() -> None:
    assert pool(workers=4).hungry(room=1)


def test_with_a_backlog_a_claim_waits_for_half_the_capacity_or_an_idle_worker() -> None:
    busy = pool(workers=4)
    busy.backlog = True
    assert not busy.hungry(room=7)
    assert busy.hungry(room=8)
    busy.workers[2].line.clear()
    assert busy.hungry(room=1)


def test_the_average_follows_what_is_measured_and_answers_of_one_read_count_each() -> None:
    one_by_one, at_once = pool(), pool()
    assert one_by_one.average == FIRST_GUESS
    for _ in range(5):
        one_by_one.measured(1.0, answers=1)
    at_once.measured(1.0, answers=5)
    assert abs(one_by_one.average - at_once.average) < 1e-9
    for _ in range(100):
        one_by_one.measured(1.0, answers=1)
    assert abs(one_by_one.average - 1.0) < 0.01


def test_however_many_answers_take_no_time_ids_can_be_placed() -> None:
    quick = pool(workers=1, line=0)
    quick.reserve = Reserve(60.0)
    for _ in range(10_000):
        quick.measured(0.0, answers=1)
    assert quick.room(0, now=0.0) == 16
    held = Held(1, 1, "a", strikes=0)
    quick.queue(held)
    assert [(each, worker.number) for each, worker in quick.placements(0.0) if worker] == [(held, 1)]


def test_ids_are_placed_in_the_order_in_which_they_wait() -> None:
    stage = pool(workers=2, line=0, queue_limit=2, parallelism=2)
    stage.waiting.extend(Held(n, 1, "a", strikes=0) for n in range(1, 6))
    placed = []
    for held, worker in stage.placements(now=0.0):
        assert worker is not None
        worker.line.append(held)
        placed.append((held.workqueue_id, worker.number))
    assert placed == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert [held.workqueue_id for held in stage.waiting] == [5]
