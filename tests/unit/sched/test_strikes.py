"""What a crash or a hang costs a message: twice a pause, the third time its life."""

import pytest

from pepsi.model.row import FailureClass, RowStatus
from pepsi.sched.held import Held
from pepsi.sched.strikes import strike


def struck(before: int) -> Held:
    return Held(workqueue_id=5, claim=9, stage="a", strikes=before)


@pytest.mark.parametrize(("before", "delay"), [(0, 60.0), (1, 120.0)])
def test_the_first_and_the_second_strike_pause_the_message(before: int, delay: float) -> None:
    for hang in (False, True):
        write = strike(struck(before), "signal 11", hang=hang, chance=lambda: 0.0)
        assert (write.workqueue_id, write.claim, write.status) == (5, 9, RowStatus.PAUSED)
        assert write.delay == delay
        assert write.patch == {"strikes": before + 1, "last_error": "signal 11"}


def test_chance_lengthens_a_pause_by_a_fifth_at_most() -> None:
    assert strike(struck(0), "x", hang=False, chance=lambda: 1.0).delay == 72.0


@pytest.mark.parametrize("before", [2, 3, 100])
def test_the_third_strike_ends_it(before: int) -> None:
    crash = strike(struck(before), "signal 11", hang=False, chance=lambda: 0.5)
    assert (crash.status, crash.delay) == (RowStatus.FAILED, None)
    assert crash.patch == {
        "strikes": before + 1,
        "last_error": "signal 11",
        "failed_stage": "a",
        "failure_class": FailureClass.CRASHED,
    }
    hang = strike(struck(before), "no answer within 300 s", hang=True, chance=lambda: 0.5)
    assert (hang.status, hang.delay) == (RowStatus.TIMEOUT, None)
    assert hang.patch["failure_class"] == FailureClass.TIMED_OUT


def test_a_hostile_reason_is_one_bounded_storable_line() -> None:
    text = strike(struck(0), "a\0b\nc\ud800" + "x" * 5000, hang=False, chance=lambda: 0.0).patch["last_error"]
    assert text.startswith("ab c\N{REPLACEMENT CHARACTER}xxx")
    assert len(text.encode()) <= 1024
