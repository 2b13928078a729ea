"""When paused rows are due, whatever time somebody wrote into one of them."""

from datetime import UTC, datetime, timedelta

import pytest

from pepsi.db import claims
from tests.db.queue import Queue


def pause(queue: Queue, timeout: datetime | str | None) -> int:
    """Put a row in that is due at *timeout*."""
    number = queue.add()
    queue.database.rows(
        "UPDATE pepsi.workqueue SET status = 'paused', timeout = %(timeout)s::timestamptz "
        "WHERE workqueue_id = %(number)s",
        timeout=timeout,
        number=number,
    )
    return number


def test_the_time_until_the_next_row_is_due_is_told_in_seconds(queue: Queue) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    pause(queue, soon + timedelta(hours=1))
    pause(queue, soon)
    pause(queue, None)
    ((delay,),) = queue.database.run(claims.next_due())
    assert 3000 < delay <= 3600


def test_an_overdue_row_is_due_at_once(queue: Queue) -> None:
    number = pause(queue, datetime.now(UTC) - timedelta(hours=1))
    assert queue.database.run(claims.next_due()) == [(0.0,)]
    assert queue.database.run(claims.flip_due(10)) == [(number,)]


def test_nothing_is_due_where_all_is_parked(queue: Queue) -> None:
    pause(queue, None)
    assert queue.database.run(claims.next_due()) == []


@pytest.mark.parametrize(
    ("timeout", "delay"),
    [
        ("-infinity", 0.0),
        ("4714-11-24 00:00:00+00 BC", 0.0),
        ("294276-12-31 23:59:59.999999+00", 36525 * 86400.0),
        ("infinity", 36525 * 86400.0),
    ],
)
def test_no_time_that_a_row_can_hold_makes_the_question_fail(queue: Queue, timeout: str, delay: float) -> None:
    # As a schema would be that somebody has tampered with: the constraint lets no infinite time in.
    queue.database.rows("ALTER TABLE pepsi.workqueue DROP CONSTRAINT workqueue_finite_timeout")
    pause(queue, timeout)
    assert queue.database.run(claims.next_due()) == [(delay,)]


def test_a_row_that_was_due_before_all_time_does_not_keep_the_others_asleep(queue: Queue) -> None:
    queue.database.rows("ALTER TABLE pepsi.workqueue DROP CONSTRAINT workqueue_finite_timeout")
    due = {pause(queue, "-infinity"), pause(queue, datetime.now(UTC))}
    assert {number for (number,) in queue.database.run(claims.flip_due(10))} == due
