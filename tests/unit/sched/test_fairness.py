"""The oldest rows have their share whatever claims there are; charges are closed once; windows go round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.sched.events import Window
from pepsi.sched.fairness import MOST_OWED, Carry, Fairness
from pepsi.sched.held import Held


def test_with_room_for_one_every_tenth_row_is_the_oldest() -> None:
    carry, taken = Carry(10), []
    for _ in range(100):
        taken.append(carry.part(1))
        carry.took(1, taken[-1], all_taken=False)
    assert sum(taken) == 10
    assert all(sum(taken[start : start + 10]) == 1 for start in range(90))


@given(st.integers(1, 100), st.lists(st.integers(1, 300), min_size=50, max_size=200))
def test_the_share_is_kept_over_time(percent: int, claims: list[int]) -> None:
    carry, rows, oldest = Carry(percent), 0, 0
    for capacity in claims:
        part = carry.part(capacity)
        carry.took(capacity, part, all_taken=False)
        rows, oldest = rows + capacity, oldest + part
        assert -1 < oldest - rows * percent / 100 <= 0


def test_no_share_is_none_and_all_is_all() -> None:
    assert Carry(0).part(500) == 0
    assert Carry(100).part(500) == 500


def test_what_was_taken_while_nobody_else_waited_is_held_against_nobody() -> None:
    carry = Carry(10)
    for _ in range(50):
        carry.took(1, 1, all_taken=True)
    assert carry.part(10) == 1


def test_what_was_saved_up_is_not_lost_when_all_is_taken() -> None:
    carry = Carry(10)
    carry.took(9, 0, all_taken=False)
    carry.took(1, 0, all_taken=True)
    assert carry.part(1) == 1


@pytest.mark.parametrize(("rows", "left"), [(1.0, 0), (0.0, 100), (10.0, -900), (float("inf"), -9_900)])
def test_an_old_row_counts_as_many_as_it_took_the_time_of(rows: float, left: int) -> None:
    carry = Carry(10)
    carry.cost(rows)
    assert carry.due == left


def test_rows_that_took_for_ever_do_not_end_the_share_of_the_oldest() -> None:
    carry = Carry(10)
    for _ in range(5):
        carry.cost(1e9)
    assert carry.due == -100 * MOST_OWED


def test_what_an_old_row_took_is_put_down_once_and_that_of_others_not_at_all() -> None:
    memory, old, other = fairness(), held(), held()
    old.by_age = True
    for one in (old, other):
        memory.charge(one, 1.0, 0.0)
        memory.correct(one, 3.0, 0.0)
        memory.correct(one, 3.0, 0.0)
    assert memory.at("a", 0.0).carry.due == -200


def fairness() -> Fairness:
    return Fairness(half_life=60.0, percent=10)


def held(sender: str = "x", stage: str = "a") -> Held:
    return Held(1, 1, stage, 0, sender)


def test_a_charge_is_closed_once() -> None:
    memory, one = fairness(), held()
    memory.charge(one, 1.0, 0.0)
    memory.correct(one, 5.0, 0.0)
    memory.correct(one, 5.0, 0.0)
    memory.refund(one, 0.0)
    assert memory.at("a", 0.0).leads.lead("x", 0.0) == 5.0
    assert memory.at("a", 0.0).leads.open == 0


def test_what_was_never_charged_is_neither_corrected_nor_refunded() -> None:
    memory = fairness()
    memory.correct(held(), 5.0, 0.0)
    memory.refund(held(), 0.0)
    assert memory.at("a", 0.0).leads.lead("x", 0.0) == 0.0


def test_leads_are_kept_by_stage() -> None:
    memory = fairness()
    memory.charge(held(stage="a"), 1.0, 0.0)
    assert memory.at("b", 0.0).leads.lead("x", 0.0) == 0.0


@pytest.mark.parametrize(("complete", "after", "lead"), [(True, "", 2.0), (False, "m", 3.0)])
def test_a_window_that_holds_all_levels_and_another_is_followed_by_the_next(
    complete: bool, after: str, lead: float
) -> None:
    memory = fairness()
    memory.charge(held(), 3.0, 0.0)
    memory.looked([Window(stage="a", last="m", complete=complete, lowest=1.0)], 0.0)
    assert memory.at("a", 0.0).after == after
    assert memory.at("a", 0.0).leads.lead("x", 0.0) == pytest.approx(lead)
