"""The small parts: times in buckets, lengths by chance, classes of senders, Jain's index."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.simulate import distribution
from pepsi.simulate.classes import BULK, ENOUGH, LIGHT, ByShare
from pepsi.simulate.fairness import jain
from pepsi.simulate.histogram import BUCKETS_PER_OCTAVE, Histogram


def histogram(*times: float) -> Histogram:
    made = Histogram()
    for time in times:
        made.add(time)
    return made


@given(st.lists(st.floats(1e-5, 1e6), min_size=1, max_size=60), st.floats(0.01, 1.0))
def test_a_quantile_is_never_further_off_than_a_bucket_is_wide(times: list[float], share: float) -> None:
    exact = sorted(times)[max(0, -int(-share * len(times) // 1) - 1)]
    found = histogram(*times).quantile(share)
    assert exact * 0.999 <= found <= max(exact * 2 ** (1 / BUCKETS_PER_OCTAVE) * 1.001, exact)


def test_the_largest_time_is_exact_and_times_beyond_the_scale_are_kept() -> None:
    found = histogram(0.0, 1e12)
    assert (found.quantile(0.5), found.quantile(1.0), found.count) == (0.0, 1e12, 2)


def test_nothing_has_no_quantiles_but_zero() -> None:
    assert Histogram().quantile(0.99) == 0.0


@pytest.mark.parametrize("text", ["20ms", "exp:20ms", "lognormal:20ms", "lognormal:20 ms:0.5"])
def test_lengths_have_the_mean_that_was_asked_for(text: str) -> None:
    sample = distribution.parse(text).sampler(random.Random(3).random)
    drawn = [sample() for _ in range(40_000)]
    assert statistics.fmean(drawn) == pytest.approx(0.020, rel=0.05)
    assert min(drawn) >= 0


@pytest.mark.parametrize("text", ["", "exp:", "exp:20ms:2", "gauss:1s", "lognormal:1s:0", "lognormal:1s:9", "-1s"])
def test_what_is_no_length_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        distribution.parse(text)


def test_who_sends_much_is_bulk_however_many_others_there_are() -> None:
    classes = ByShare(0.1)
    chance = random.Random(1).random
    found = [classes.group("much@x" if chance() < 0.3 else f"{chance()}@x") for _ in range(20_000)]
    assert 5_000 < found.count(BULK) < 6_500
    assert len(classes._counts) <= 40


def test_the_first_sender_of_all_is_no_bulk_sender_yet() -> None:
    classes = ByShare(0.1)
    found = [classes.group("a@x") for _ in range(ENOUGH)]
    assert (found[0], found[ENOUGH - 2], found[-1]) == (LIGHT, LIGHT, BULK)


def test_the_index_is_one_for_equals_and_a_share_for_one_who_has_all() -> None:
    assert jain([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert jain([5.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert jain([0.0, 0.0]) == 1.0
