"""Waiting longer and longer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.sched.backoff import delay, jittered


@pytest.mark.parametrize(("failures", "seconds"), [(1, 60), (2, 120), (3, 240), (6, 1920), (7, 3600), (8, 3600)])
def test_each_failure_doubles_the_wait_up_to_the_cap(failures: int, seconds: float) -> None:
    assert delay(failures, 60.0, 3600.0) == seconds


@given(st.integers(), st.floats(0.01, 1e6), st.floats(0.01, 1e9))
def test_a_wait_is_never_less_than_the_first_nor_more_than_the_cap(failures: int, first: float, cap: float) -> None:
    assert min(first, cap) <= delay(failures, first, cap) <= cap


@given(st.floats(0, 1e9), st.floats(0, 1, exclude_max=True))
def test_chance_adds_at_most_a_fifth(seconds: float, chance: float) -> None:
    assert seconds <= jittered(seconds, lambda: chance) <= seconds * 1.2
