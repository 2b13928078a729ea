"""Leads follow what was measured, fade, and are forgotten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.sched.leads import MOST, Leads

HALF = 60.0


def leads() -> Leads:
    return Leads(HALF, 0.0)


def charged(seconds: float = 1.0, sender: str = "x", now: float = 0.0) -> Leads:
    book = leads()
    book.charge(sender, seconds, seconds, now)
    return book


def test_a_lead_halves_each_half_life() -> None:
    book = charged(8.0)
    assert [book.lead("x", at) for at in (0.0, HALF, 2 * HALF, 3 * HALF)] == [8.0, 4.0, 2.0, 1.0]


def test_a_correction_puts_what_was_measured_in_the_place_of_the_guess() -> None:
    book = charged(1.0)
    book.correct("x", 1.0, 0.0, 5.0, HALF)
    assert book.lead("x", HALF) == pytest.approx(5.0)
    assert book.open == 0


def test_a_refund_takes_back_what_is_left_of_the_charge() -> None:
    book = charged(4.0)
    book.charge("x", 4.0, 4.0, HALF)
    book.refund("x", 4.0, 0.0, HALF)
    assert book.lead("x", HALF) == pytest.approx(4.0)


def test_a_refund_gives_nobody_a_credit() -> None:
    book = charged(4.0)
    book.level(3.0, 0.0)
    book.refund("x", 4.0, 0.0, 0.0)
    assert book.lead("x", 0.0) == 0.0
    book.charge("x", 1.0, 1.0, 0.0)
    assert book.lead("x", 0.0) == 1.0


def test_a_sender_that_was_quiet_earns_no_priority() -> None:
    book = charged(1.0, "busy")
    book.level(1.0, 0.0)
    book.charge("late", 1.0, 1.0, 0.0)
    book.charge("busy", 1.0, 1.0, 0.0)
    assert book.lead("late", 0.0) == book.lead("busy", 0.0) == 1.0


def test_what_was_overcharged_counts_while_more_is_open_and_is_no_credit_after_that() -> None:
    book = charged(10.0)
    book.charge("x", 10.0, 10.0, 0.0)
    book.level(20.0, 0.0)
    book.correct("x", 10.0, 0.0, 2.0, 0.0)
    assert book.lead("x", 0.0) == 0.0
    book.charge("x", 10.0, 10.0, 0.0)
    assert book.lead("x", 0.0) == pytest.approx(2.0)
    book.correct("x", 10.0, 0.0, 2.0, 0.0)
    book.correct("x", 10.0, 0.0, 2.0, 0.0)
    assert len(book) == 0
    book.charge("x", 10.0, 10.0, 0.0)
    assert book.lead("x", 0.0) == pytest.approx(10.0)


def test_levelling_lowers_all_and_nobody_below_zero() -> None:
    book = charged(3.0, "a")
    book.charge("b", 5.0, 5.0, 0.0)
    book.level(4.0, 0.0)
    assert (book.lead("a", 0.0), book.lead("b", 0.0), book.lead("new", 0.0)) == (0.0, 1.0, 0.0)


def test_the_largest_leads_come_first() -> None:
    book = leads()
    for number in range(100):
        book.charge(f"s{number}", 1.0 + number, 1.0, 0.0)
    assert book.top(3, 0.0) == [("s99", 100.0), ("s98", 99.0), ("s97", 98.0)]
    assert len(book.top(1000, 0.0)) == 100


def test_what_is_worth_less_than_a_message_is_forgotten_after_a_quiet_half_life() -> None:
    book = leads()
    for number in range(1000):
        book.charge(f"s{number}", 1.0, 1.0, 0.0)
        book.correct(f"s{number}", 1.0, 0.0, 1.0, 0.0)
    for _ in range(1100):
        book.charge("busy", 1.0, 1.0, HALF - 1.0)
    assert len(book) == 1001
    for _ in range(1100):
        book.charge("busy", 1.0, 1.0, HALF)
    assert len(book) == 1


def test_what_is_open_is_not_forgotten() -> None:
    book = charged(1.0, "slow")
    for _ in range(200):
        book.charge("busy", 1.0, 1.0, 100 * HALF)
    book.correct("slow", 1.0, 0.0, 3.0, 100 * HALF)
    assert book.lead("slow", 100 * HALF) == pytest.approx(3.0)


def test_memory_is_bounded_however_many_senders_there_are() -> None:
    book = leads()
    for number in range(3 * MOST):
        book.charge(f"s{number}", 1.0, 0.5, 0.0)
        book.correct(f"s{number}", 1.0, 0.0, 1.0, 0.0)
    assert len(book) <= 2 * MOST + 1


def test_years_may_pass() -> None:
    book = charged(1.0)
    assert book.lead("x", 1e9) == 0.0
    assert book.top(10, 1e9) == []
    book.correct("x", 1.0, 0.0, 2.0, 2e9)
    assert book.lead("x", 2e9) == pytest.approx(2.0)


STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.floats(0.001, 100), st.floats(0, 400), st.sampled_from("crk")), max_size=80
)


@given(STEPS)
def test_leads_are_the_sum_of_what_was_measured_and_what_is_open_and_never_drift(
    steps: list[tuple[str, float, float, str]],
) -> None:
    book, now = leads(), 0.0
    plain = dict.fromkeys("abc", 0.0)
    flying: list[tuple[str, float, float]] = []

    def pass_time(seconds: float) -> None:
        for sender in plain:
            plain[sender] *= 2 ** (-seconds / HALF)

    for sender, seconds, later, what in steps:
        now += later
        pass_time(later)
        if what == "c" or not flying:
            book.charge(sender, seconds, 0.0, now)
            plain[sender] += seconds
            flying.append((sender, seconds, now))
            continue
        who, amount, at = flying.pop(0)
        left = amount * 2 ** (-(now - at) / HALF)
        if what == "r":
            book.refund(who, amount, at, now)
            plain[who] -= left
        else:
            book.correct(who, amount, at, seconds, now)
            plain[who] += seconds - left
        for key, value in plain.items():
            assert book.lead(key, now) == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert book.open == len(flying)
