"""Heartbeats, due rows and questions for them: never late by more than a second, never more than one a second."""

from pepsi.sched.timetable import ASK_INTERVAL, Timetable

NEVER = float("inf")


def timetable() -> Timetable:
    return Timetable(poll_interval=30.0, beat_at=30.0)


def test_a_heartbeat_comes_once_an_interval() -> None:
    times = timetable()
    assert not times.beat(29.9)
    assert times.beat(30.0)
    assert not times.beat(31.0)
    assert times.beat(60.0)


def test_missed_heartbeats_are_not_made_up_for() -> None:
    times = timetable()
    assert times.beat(200.0)
    assert not times.beat(229.0)
    assert times.beat(230.0)


def test_nothing_is_asked_unless_somebody_wants_to_know() -> None:
    times = timetable()
    assert times.next_due() == NEVER
    assert not times.wants_ask(1e9)
    assert not times.wants_flip(1e9)


def test_a_question_goes_out_at_once_and_the_next_one_a_second_later() -> None:
    times = timetable()
    times.want_ask(5.0)
    assert times.wants_ask(5.0)
    times.asking(5.0)
    times.answered(5.1, None)
    times.want_ask(5.2)
    times.want_ask(5.3)
    assert not times.wants_ask(5.9)
    assert times.next_due() == 5.0 + ASK_INTERVAL
    assert times.wants_ask(6.0)


def test_only_one_question_or_flip_is_under_way() -> None:
    times = timetable()
    times.want_ask(5.0)
    times.asking(5.0)
    times.want_ask(8.0)
    times.paused(8.0, 1.0)
    assert not times.wants_ask(9.0)
    assert not times.wants_flip(9.0)
    assert times.next_due() == NEVER
    times.failed(9.0)
    assert times.wants_ask(9.0)
    assert times.wants_flip(9.0)


def test_the_answer_says_when_to_flip() -> None:
    times = timetable()
    times.want_ask(5.0)
    times.asking(5.0)
    times.answered(5.5, 10.0)
    assert times.next_due() == 15.5
    assert not times.wants_flip(15.4)
    assert times.wants_flip(15.5)


def test_a_row_that_is_overdue_is_flipped_now() -> None:
    times = timetable()
    times.asking(5.0)
    times.answered(5.0, -3600.0)
    assert times.wants_flip(5.0)


def test_a_pause_of_our_own_needs_no_question() -> None:
    times = timetable()
    times.paused(5.0, 60.0)
    times.paused(6.0, 30.0)
    times.paused(7.0, 90.0)
    assert times.next_due() == 36.0


def test_after_a_full_flip_the_next_follows_at_once() -> None:
    times = timetable()
    times.paused(0.0, 1.0)
    times.flipping()
    assert times.next_due() == NEVER
    times.flipped(2.0, more=True)
    assert times.wants_flip(2.0)


def test_after_the_last_flip_the_next_due_time_is_asked_for() -> None:
    times = timetable()
    times.paused(0.0, 1.0)
    times.flipping()
    times.flipped(2.0, more=False)
    assert not times.wants_flip(2.0)
    assert times.wants_ask(2.0)


def test_a_flip_that_failed_is_not_forgotten() -> None:
    times = timetable()
    times.paused(0.0, 1.0)
    times.flipping()
    times.failed(2.0)
    assert times.wants_ask(2.0)
