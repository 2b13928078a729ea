"""Where the next id goes: onto the fewest workers, but not behind slow mail while another worker may be started."""

import pytest

from pepsi.sched.held import Held
from pepsi.sched.packing import BEARABLE, Elsewhere, choose, choose_alone, depth, kept_free
from pepsi.sched.worker import Life, Worker

FAST, SLOW = 0.001, 1.0
"""Seconds that a message takes."""


def worker(number: int, line: int = 0, life: Life = Life.READY, quota: int = 100) -> Worker:
    made = Worker(number, "a", since=0.0, quota=quota, life=life)
    made.line.extend(Held(number * 100 + n, 1, "a", strikes=0) for n in range(line))
    return made


def choice(
    *workers: Worker, waiting: int = 1, average: float = FAST, may_start: bool = True, depth: int = 4
) -> int | Elsewhere:
    chosen = choose(workers, waiting=waiting, queue_limit=4, average=average, may_start=may_start, depth=depth)
    return chosen.number if isinstance(chosen, Worker) else chosen


def test_the_first_id_of_a_stage_starts_its_first_worker() -> None:
    assert choice() is Elsewhere.START


def test_the_fullest_ready_worker_is_filled_first_so_that_a_surplus_goes_cold() -> None:
    assert choice(worker(1, 0), worker(2, 3), worker(3, 1)) == 2


def test_of_equally_full_workers_the_oldest_is_filled() -> None:
    assert choice(worker(1, 1), worker(2, 1)) == 1


def test_a_free_slot_is_filled_before_a_worker_is_started() -> None:
    assert choice(worker(1, 3)) == 1
    assert choice(worker(1, 4)) is Elsewhere.START


def test_nothing_waits_behind_slow_mail_while_a_worker_may_be_started() -> None:
    assert choice(worker(1, 1), average=SLOW) is Elsewhere.START
    assert choice(worker(1, 0), average=SLOW) == 1


def test_work_ahead_is_bearable_below_a_twentieth_of_a_second() -> None:
    assert choice(worker(1, 2), average=BEARABLE / 2 - 0.001) == 1
    assert choice(worker(1, 2), average=BEARABLE / 2) is Elsewhere.START


def test_when_no_worker_may_be_started_the_least_loaded_one_takes_even_slow_mail() -> None:
    assert choice(worker(1, 3), worker(2, 1), worker(3, 2), average=SLOW, may_start=False) == 2


def test_what_a_ready_worker_has_room_for_waits_for_the_starting_ones_that_will_take_it() -> None:
    slow = worker(1, 1)
    assert choice(slow, worker(2, 0, Life.STARTING), average=SLOW) is Elsewhere.WAIT
    assert choice(slow, worker(2, 0, Life.STARTING), average=SLOW, waiting=2) is Elsewhere.START
    assert choice(slow, worker(2, 0, Life.STARTING), average=SLOW, waiting=2, may_start=False) == 1


def test_a_starting_worker_gets_ids_when_no_ready_one_has_room() -> None:
    starting = worker(2, 1, Life.STARTING)
    assert choice(worker(1, 0), starting) == 1
    assert choice(worker(1, 4), starting) == 2


@pytest.mark.parametrize("life", [Life.RETIRING, Life.STOPPING, Life.KILLED])
def test_who_is_to_go_gets_nothing(life: Life) -> None:
    assert choice(worker(1, 0, life)) is Elsewhere.START
    assert choice(worker(1, 0, life), may_start=False) is Elsewhere.WAIT


def test_who_has_done_its_share_gets_nothing() -> None:
    assert choice(worker(1, 2, quota=0), may_start=False) is Elsewhere.WAIT
    assert choice(worker(1, 2, quota=1), may_start=False) == 1


def test_full_is_full() -> None:
    assert choice(worker(1, 4), worker(2, 4, Life.STARTING), may_start=False) is Elsewhere.WAIT


def lonely(*workers: Worker, waiting: int = 1, may_start: bool = True) -> int | Elsewhere:
    chosen = choose_alone(workers, waiting=waiting, may_start=may_start)
    return chosen.number if isinstance(chosen, Worker) else chosen


def test_what_is_to_run_alone_goes_to_a_worker_that_holds_nothing() -> None:
    assert lonely(worker(1, 1), worker(2, 0)) == 2
    assert lonely(worker(1, 1)) is Elsewhere.START
    assert lonely(worker(1, 1), worker(2, 0, Life.STARTING)) is Elsewhere.WAIT
    assert lonely(worker(1, 1), may_start=False) is Elsewhere.WAIT


def test_nothing_is_put_behind_what_runs_alone() -> None:
    engaged = worker(1)
    engaged.line.append(Held(5, 1, "a", strikes=1, alone=True))
    assert choice(engaged, may_start=False) is Elsewhere.WAIT
    assert kept_free([engaged]) is None


def test_the_worker_that_will_be_free_first_is_kept_for_what_is_to_run_alone() -> None:
    kept = kept_free([worker(1, 3), worker(2, 1), worker(3, 2)])
    assert kept is not None
    assert kept.number == 2


def test_an_id_waits_for_a_worker_that_has_enough_rather_than_for_a_new_one_if_that_is_bearable() -> None:
    assert choice(worker(1, 1), average=BEARABLE / 3, depth=1) is Elsewhere.WAIT
    assert choice(worker(1, 1), average=BEARABLE / 3, depth=1, waiting=3) is Elsewhere.START
    assert choice(worker(1, 1), average=BEARABLE / 3, depth=1, waiting=3, may_start=False) is Elsewhere.WAIT


def test_a_starting_worker_is_not_handed_more_than_it_may_have() -> None:
    assert choice(worker(1, 1, Life.STARTING), average=BEARABLE / 3, depth=1) is Elsewhere.WAIT


@pytest.mark.parametrize(
    ("average", "most"), [(0.020, 1), (0.0151, 1), (0.010, 2), (0.005, 3), (0.003, 4), (0.0001, 4), (0.0, 4)]
)
def test_little_is_handed_ahead_of_time_where_mail_is_slow(average: float, most: int) -> None:
    assert depth(4, average) == most
