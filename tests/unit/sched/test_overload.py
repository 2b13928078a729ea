"""Whose limit is lowered when the database has no connection left, how far, and for how long."""

from pepsi.sched.overload import BURST, STEP, WINDOW, Lowered, Overload


def test_the_stage_with_the_most_workers_has_to_do_with_half_of_them_whoever_went_without() -> None:
    overload = Overload()
    assert overload.report({"a": 2, "b": 9, "c": 3}, 0.0) == Lowered("b", 9, 4)
    assert overload.limit("b", 20) == 4
    assert overload.limit("a", 20) == 20


def test_workers_that_go_without_at_the_same_moment_lower_one_limit_once() -> None:
    overload = Overload()
    assert overload.report({"a": 8}, 0.0)
    assert not overload.report({"a": 8}, BURST / 2)
    assert overload.limit("a", 8) == 4


def test_further_reports_lower_it_to_one_worker_and_no_further() -> None:
    overload = Overload()
    limits = []
    for second in range(5):
        overload.report({"a": 16}, second * BURST)
        limits.append(overload.limit("a", 16))
    assert limits == [8, 4, 2, 1, 1]


def test_a_limit_of_more_than_runs_is_worth_nothing() -> None:
    overload = Overload()
    overload.report({"a": 6}, 0.0)
    assert overload.limit("a", 1000) == 3


def test_a_stage_is_never_given_more_than_its_parallelism() -> None:
    overload = Overload()
    overload.report({"a": 8}, 0.0)
    assert overload.limit("a", 2) == 2


def test_a_limit_is_raised_step_by_step_when_nobody_has_complained_for_a_while() -> None:
    overload = Overload()
    for second in range(3):
        overload.report({"a": 16}, second * BURST)
    assert overload.next_time() == 2 * BURST + WINDOW
    assert not overload.ease({"a": 12}, WINDOW)
    seen = []
    while overload.next_time() != float("inf"):
        now = overload.next_time()
        seen.append((now - WINDOW - 2 * BURST, overload.ease({"a": 12}, now)))
    assert seen == [(0.0, {"a": 4}), (STEP, {"a": 8}), (2 * STEP, {"a": 12})]
    assert overload.limit("a", 12) == 12


def test_every_report_makes_all_limits_last() -> None:
    overload = Overload()
    overload.report({"a": 8}, 0.0)
    overload.report({"a": 4, "b": 6}, 200.0)
    assert not overload.ease({"a": 8, "b": 8}, WINDOW)
    assert overload.ease({"a": 8, "b": 8}, 200.0 + WINDOW) == {"a": 8, "b": 6}


def test_a_report_on_the_way_back_lowers_again() -> None:
    overload = Overload()
    overload.report({"a": 8}, 0.0)
    overload.report({"a": 8}, BURST)
    overload.ease({"a": 8}, BURST + WINDOW)
    assert overload.limit("a", 8) == 4
    assert overload.report({"a": 4}, BURST + WINDOW + 1.0) == Lowered("a", 4, 2)
    assert overload.next_time() == BURST + WINDOW + 1.0 + WINDOW


def test_the_limit_of_a_stage_that_is_gone_is_forgotten() -> None:
    overload = Overload()
    overload.report({"a": 8}, 0.0)
    assert not overload.ease({}, 1.0)
    assert overload.next_time() == float("inf")


def test_with_no_worker_left_there_is_nothing_to_lower() -> None:
    assert Overload().report({}, 0.0) is None
