"""Counts are gathered, flushed when it is time, and never counted twice."""

from pepsi.sched.statistics import Deltas, StageCounts, Statistics


def statistics(interval: float = 60.0) -> Statistics:
    return Statistics(interval, number=0, flushed_at=100.0)


def test_without_counts_there_is_no_flush() -> None:
    assert statistics().due(idle=True) is None
    assert statistics().due(idle=False) is None


def test_counts_are_flushed_once_an_interval_and_soon_when_the_pipeline_is_idle() -> None:
    stats = statistics()
    stats.at("a").messages += 1
    assert stats.due(idle=False) == 160.0
    assert stats.due(idle=True) == 101.0


def test_an_interval_below_a_second_holds_for_the_idle_too() -> None:
    stats = statistics(interval=0.2)
    stats.passes += 1
    assert stats.due(idle=True) == 100.2


def test_a_flush_carries_all_and_what_follows_goes_with_the_next() -> None:
    stats = statistics()
    stats.at("a").messages += 2
    stats.passes, stats.failed = 2, 1
    first = stats.begin(130.0)
    assert stats.number == 1
    assert first.stages["a"].messages == 2
    assert (first.passes, first.failed) == (2, 1)
    stats.at("a").messages += 1
    assert first.stages["a"].messages == 2
    assert stats.due(idle=True) is None, "one is under way"
    stats.end(written=True)
    assert stats.due(idle=False) == 190.0
    second = stats.begin(190.0)
    assert stats.number == 2
    assert (second.stages["a"].messages, second.passes, second.failed) == (1, 0, 0)


def test_a_flush_that_may_not_have_been_written_is_repeated_unchanged_under_its_number() -> None:
    stats = statistics()
    stats.at("a").strikes += 1
    first = stats.begin(130.0)
    stats.at("b").strikes += 1
    stats.end(written=False)
    assert stats.begin(190.0) is first
    assert stats.number == 1
    assert list(first.stages) == ["a"]
    stats.end(written=True)
    assert stats.dirty
    assert list(stats.begin(250.0).stages) == ["b"]
    assert stats.number == 2


def test_the_total_is_of_all_that_was_counted_flushed_or_not() -> None:
    stats = statistics()
    stats.at("a").messages += 2
    stats.passes = 2
    stats.begin(130.0)
    stats.at("a").messages += 1
    stats.at("b").strikes += 1
    stats.failed += 1
    total = stats.total
    assert total.stages == {"a": StageCounts(messages=3), "b": StageCounts(strikes=1)}
    assert (total.passes, total.failed) == (2, 1)


def test_what_was_told_is_not_told_again() -> None:
    stats = statistics()
    stats.told_at = 100.0
    stats.at("a").messages += 2
    stats.begin(130.0)
    assert stats.untold(130.0) is None
    assert stats.untold(160.0) == (60.0, Deltas({"a": StageCounts(messages=2)}, 0, 0))
    stats.end(written=True)
    stats.at("b").messages += 1
    stats.begin(170.0)
    assert stats.untold(170.0, last=True) == (10.0, Deltas({"b": StageCounts(messages=1)}, 0, 0))
