"""What each answer means for the row."""

import pytest

from pepsi.model.row import FailureClass, RowStatus
from pepsi.model.status import Fused, Status
from pepsi.sched.commands import Settlement
from pepsi.sched.held import Held
from pepsi.sched.verdict import settlement

HELD = Held(workqueue_id=5, claim=9, stage="a", strikes=0)


def verdict(code: int, reason: str = "", spread: float = 0.0) -> Settlement | None:
    return settlement(HELD, Status(code=code, reason=reason), chance=lambda: spread)


def test_success_needs_no_write() -> None:
    assert verdict(0) is None
    assert settlement(HELD, Status(code=0, report=(Fused("b", 10),), warning="x"), chance=lambda: 0.0) is None


def test_a_lost_database_connection_pauses_for_half_a_minute_and_blames_nobody() -> None:
    write = verdict(74, "server closed the connection")
    assert write == Settlement(
        workqueue_id=5,
        claim=9,
        status=RowStatus.PAUSED,
        delay=30.0,
        patch={"last_error": "server closed the connection"},
    )
    later = verdict(74, spread=1.0)
    assert later is not None
    assert later.delay == 36.0


def test_no_free_connection_puts_the_row_back_untouched() -> None:
    assert verdict(75, "too many clients") == Settlement(workqueue_id=5, claim=9, status=RowStatus.PENDING)


@pytest.mark.parametrize("code", [1, 2, 65, 73, 76, 78, 255])
def test_any_other_answer_fails_the_message(code: int) -> None:
    write = verdict(code, "no such user")
    assert write is not None
    assert (write.status, write.delay) == (RowStatus.FAILED, None)
    assert write.patch == {
        "last_error": "no such user",
        "failed_stage": "a",
        "failure_class": FailureClass.PERMANENT,
    }


def test_a_failure_without_a_reason_names_the_answer() -> None:
    write = verdict(5)
    assert write is not None
    assert write.patch["last_error"] == "the stage answered 5"
