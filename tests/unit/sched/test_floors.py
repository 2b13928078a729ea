"""Floors follow what was claimed, and hide nothing that comes back."""

import pytest

from pepsi.sched.floors import (
    CHEAP,
    FAR_LAG,
    LAG,
    LEAST_REST,
    LONGEST_REST,
    MOST_EXCEPTIONS,
    MOST_TRAILS,
    REST,
    WIDE_INTERVAL,
    WORTH,
    Floors,
)

Rows = list[tuple[int, str]]


def rows(first: int, last: int, sender: str = "bulk") -> Rows:
    return [(number, sender) for number in range(first, last + 1)]


class Claims:
    """Claims at stage ``a``, one after another, each with as many rows as were asked for unless told otherwise."""

    def __init__(self) -> None:
        self.floors = Floors()
        self.now = 1000.0

    def send(self, *, by_age: bool = True) -> int:
        self.floors.begin({"a": by_age}, self.now)
        return self.floors.floor("a")

    def brings(self, got: Rows, *, oldest: int | None = None, all_taken: bool = False, took: float = 0.0) -> None:
        self.now += took
        self.floors.claimed("a", got, len(got) if oldest is None else oldest, self.now, all_taken=all_taken)
        self.floors.end(self.now)

    def full(self, first: int, last: int, **more: float) -> int:
        floor = self.send()
        self.brings(rows(first, last), took=more.get("took", 0.0))
        return floor

    def wait(self, seconds: float) -> None:
        self.now += seconds


def at_work(last: int = 100) -> Claims:
    """Some way into a backlog, with all ids up to *last* claimed long enough ago."""
    claims = Claims()
    for first in range(1, last, 10):
        claims.full(first, first + 9)
    claims.wait(2 * FAR_LAG)
    claims.full(last + 1, last + 1)
    return claims


def test_a_backlog_is_looked_at_from_a_little_behind_what_was_claimed() -> None:
    claims = at_work(100)
    claims.wait(3 * LAG)
    assert claims.send() == 101


def test_a_row_with_a_smaller_id_that_is_committed_a_moment_later_is_seen() -> None:
    claims = at_work(100)
    claims.full(102, 110)
    claims.wait(LAG / 2)
    assert claims.send() <= 101


def test_once_a_second_a_claim_looks_further_back() -> None:
    claims = at_work(100)
    floors = []
    for number in range(102, 402):
        floors.append(claims.full(number, number))
        claims.wait(0.01)
    deep = [floor for floor, number in zip(floors, range(102, 402), strict=True) if number - floor > 3 * LAG / 0.01 + 1]
    assert len(deep) == pytest.approx(300 * 0.01 / WIDE_INTERVAL, abs=1)


def test_a_claim_that_takes_no_row_for_its_age_does_not_look_further_back() -> None:
    claims = at_work(100)
    claims.wait(WIDE_INTERVAL)
    claims.floors.moved(40, None)
    assert claims.send(by_age=False) == 101
    claims.brings([])
    assert claims.send() == 40


def test_an_id_that_is_returned_lowers_the_floor_until_it_is_claimed() -> None:
    claims = at_work(100)
    claims.wait(3 * LAG)
    claims.floors.returned([40])
    assert claims.send() == 40
    claims.brings([(40, "bulk"), *rows(102, 105)])
    claims.wait(3 * LAG)
    assert claims.send() > 100


def test_an_id_that_waits_nowhere_costs_one_look() -> None:
    claims = at_work(100)
    claims.floors.returned([40])
    assert claims.full(102, 105) == 40
    assert claims.send() > 40


def test_a_look_that_does_not_reach_an_id_is_repeated() -> None:
    claims = at_work(100)
    claims.floors.returned([40, 60])
    claims.send()
    claims.brings([(40, "bulk")])
    assert claims.send() == 60
    claims.brings(rows(102, 103), oldest=0)
    assert claims.send() == 60


def test_a_claim_under_way_does_not_raise_the_floor_above_an_id_that_comes_back_meanwhile() -> None:
    claims = at_work(100)
    claims.send()
    claims.floors.returned([150])
    claims.floors.moved(160, "a")
    claims.brings([*rows(102, 149), *rows(161, 200)])
    claims.wait(3 * LAG)
    assert claims.full(201, 210) == 150
    claims.wait(3 * LAG)
    assert claims.send() > 150


def test_an_id_that_was_answered_is_looked_for_at_the_next_stage_only() -> None:
    claims = at_work(100)
    claims.wait(3 * LAG)
    claims.floors.moved(40, "b")
    claims.floors.moved(50, None)
    assert claims.send() == 101
    claims.brings(rows(102, 103))
    claims.floors.moved(60, "a")
    assert claims.send() == 60


def test_an_id_that_went_to_an_unexpected_stage_is_found_by_the_next_wide_look() -> None:
    claims = at_work(100)
    claims.floors.moved(40, None)
    claims.wait(WIDE_INTERVAL)
    assert claims.send() == 40


@pytest.mark.parametrize("certain", [False, True])
def test_a_doubt_is_one_look_from_the_beginning(certain: bool) -> None:
    claims = at_work(100)
    claims.floors.doubt(certain=certain)
    assert claims.floors.due("a", claims.now)
    assert claims.full(102, 105) == 0
    claims.wait(3 * LAG)
    assert claims.full(106, 110) > 100


def test_a_look_goes_on_where_old_rows_were_found_until_none_are_left() -> None:
    claims = at_work(100)
    claims.floors.doubt()
    claims.send()
    claims.brings([(10, "bulk")])
    assert claims.send() == 10
    claims.brings([(20, "bulk")])
    assert claims.send() == 20
    claims.brings([(102, "bulk")])
    claims.wait(3 * LAG)
    assert claims.send() > 100


def test_a_claim_that_comes_back_short_is_followed_by_a_look_from_the_beginning() -> None:
    claims = at_work(100)
    claims.send()
    claims.brings([(102, "bulk")], all_taken=True)
    assert claims.floors.due("a", claims.now)
    assert claims.send() == 0
    claims.brings([], all_taken=True)
    assert not claims.floors.due("a", claims.now)
    assert claims.send() == 0


def test_a_look_that_was_dear_is_not_repeated_at_once_and_not_forgotten() -> None:
    claims = at_work(100)
    claims.floors.doubt()
    claims.full(102, 105, took=1.0)
    claims.wait(3 * LAG)
    assert claims.send() > 100
    claims.brings([(106, "bulk")], all_taken=True)
    assert not claims.floors.due("a", claims.now)
    at = claims.floors.next_time(claims.now)
    assert at == pytest.approx(claims.now + REST - 3 * LAG)
    assert claims.send() > 100
    claims.brings([], all_taken=True)
    claims.now = at
    assert claims.floors.due("a", claims.now)
    assert claims.send() == 0


def test_a_repair_is_looked_for_at_once_whatever_that_costs() -> None:
    claims = at_work(100)
    claims.floors.doubt()
    claims.full(102, 105, took=1.0)
    claims.floors.doubt(certain=True)
    assert claims.send() == 0


def test_a_cheap_look_needs_no_rest() -> None:
    claims = at_work(100)
    claims.floors.doubt()
    claims.full(102, 105, took=CHEAP)
    assert claims.floors.next_time(claims.now) == float("inf")
    claims.floors.doubt()
    assert claims.send() == 0


def test_a_deep_look_that_fails_is_put_off_and_claims_go_on_from_the_floor() -> None:
    claims = at_work(100)
    claims.floors.doubt()
    claims.floors.returned([40])
    claims.send()
    claims.wait(60.0)
    claims.floors.end(claims.now, failed=True)
    assert claims.send() > 100
    assert claims.floors.next_time(claims.now) == claims.now + 60.0 * LEAST_REST


@pytest.mark.parametrize("took", [0.1, 2.0, 10.0, 20.0, 60.0])
def test_deep_looks_leave_two_thirds_of_the_time_to_mail_and_are_never_far_apart(took: float) -> None:
    claims = at_work(100)
    claims.floors.doubt()
    claims.full(102, 105, took=took)
    claims.floors.doubt()
    rest = claims.floors.next_time(claims.now) - claims.now
    assert 2 * took <= rest <= max(LONGEST_REST, 2 * took)


def bulk_and_light(*, count: int = WORTH) -> Claims:
    """The oldest rows are bulk's; those of the light sender are claimed far ahead of them."""
    claims = at_work(100)
    claims.send()
    claims.brings([*rows(102, 102), *rows(501, 500 + count, "light")], oldest=1)
    claims.wait(3 * LAG)
    claims.send()
    return claims


def test_a_sender_whose_rows_were_claimed_far_ahead_has_a_floor_of_its_own() -> None:
    claims = bulk_and_light()
    assert claims.floors.of_senders("a", "", 10, claims.now) == {"light": 500 + WORTH}


def test_few_rows_of_a_sender_are_not_worth_a_floor() -> None:
    claims = bulk_and_light(count=WORTH - 1)
    assert claims.floors.of_senders("a", "", 10, claims.now) == {}


def test_an_id_that_comes_back_lowers_the_floors_of_senders_too() -> None:
    claims = bulk_and_light()
    claims.brings(rows(103, 103), oldest=1)
    claims.floors.returned([505])
    claims.send()
    assert claims.floors.of_senders("a", "", 10, claims.now) == {"light": 505}


def test_no_floor_of_a_sender_counts_in_a_deep_look() -> None:
    claims = bulk_and_light()
    claims.brings(rows(103, 103), oldest=1)
    claims.floors.doubt()
    claims.send()
    assert claims.floors.of_senders("a", "", 10, claims.now) == {}


def test_floors_of_senders_go_on_with_the_window_and_are_bounded() -> None:
    claims = at_work(100)
    for number in range(2 * MOST_TRAILS):
        claims.send()
        first = 1000 + number * WORTH
        claims.brings([(102, "bulk"), *rows(first, first + WORTH - 1, f"s{number:05}")], oldest=1)
    claims.wait(3 * LAG)
    claims.send()
    found = claims.floors.of_senders("a", "s01500", 3, claims.now)
    assert sorted(found) == ["s01501", "s01502", "s01503"]
    assert len(claims.floors.of_senders("a", "", 10 * MOST_TRAILS, claims.now)) <= MOST_TRAILS


def test_exceptions_are_bounded_and_what_is_dropped_is_looked_for() -> None:
    claims = at_work(MOST_EXCEPTIONS + 100)
    claims.floors.returned(range(1, MOST_EXCEPTIONS + 2))
    assert claims.floors.due("a", claims.now)
    assert claims.send() == 0
