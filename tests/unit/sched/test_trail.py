"""A trail follows what was claimed, never too closely and never too far behind."""

from hypothesis import given
from hypothesis import strategies as st

from pepsi.sched.trail import Trail

LAG = 1.0


def test_nothing_is_known_at_first() -> None:
    assert Trail(LAG).end(100.0) == 0


def test_what_was_just_claimed_does_not_count_yet() -> None:
    trail = Trail(LAG)
    trail.note(7, 100.0)
    assert trail.end(100.9) == 0
    assert trail.end(102.0) == 7


@given(st.lists(st.tuples(st.floats(0.01, 3.0), st.integers(1, 50)), min_size=1, max_size=60))
def test_it_is_one_lag_behind_at_least_and_three_at_most(steps: list[tuple[float, int]]) -> None:
    trail, now, noted = Trail(LAG), 0.0, [(float("-inf"), 0)]
    for later, step in steps:
        now += later
        number = noted[-1][1] + step
        end = trail.end(now)
        assert max(number for at, number in noted if at <= now - 3 * LAG) <= end
        assert end <= max(number for at, number in noted if at <= now - LAG)
        trail.note(number, now)
        noted.append((now, number))
