"""When a worker tries to connect, and what it says meanwhile. That it does connect is tested with a real server."""

import psycopg2
import pytest

from pepsi.db.faults import Fault
from pepsi.db.statement import Statement
from pepsi.errors import DatabaseError
from pepsi.worker.link import LONGEST_DELAY, DownError, Link

SELECT = Statement("SELECT 1")


class Away:
    """A database that is not there, and a clock."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.attempts = 0
        self.now = 1000.0
        self.link = Link(self.connect, lambda: self.now, lambda: 0.0)

    def connect(self) -> psycopg2.extensions.connection:
        self.attempts += 1
        raise self.error

    def fault(self) -> Fault:
        with pytest.raises(DownError) as caught:
            self.link.run(SELECT)
        return caught.value.fault


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (psycopg2.OperationalError("connection refused"), Fault.LOST),
        (psycopg2.OperationalError("FATAL:  sorry, too many clients already"), Fault.LIMIT),
        (DatabaseError("the private server is not running"), Fault.OTHER),
    ],
)
def test_every_statement_is_answered_at_once_with_what_kept_the_last_attempt_from_connecting(
    error: Exception, fault: Fault
) -> None:
    away = Away(error)
    assert [away.fault() for _ in range(5)] == [fault] * 5
    assert away.attempts == 1


def test_attempts_are_made_ever_more_rarely_but_never_rarer_than_the_longest_delay() -> None:
    away = Away(psycopg2.OperationalError("connection refused"))
    waits = []
    for _ in range(10):
        away.link.tend()
        due = away.link.due
        assert due is not None
        waits.append(due)
        away.now += due
    assert away.attempts == 10
    assert waits == [0.25, 0.5, 1, 2, 4, 8, *[LONGEST_DELAY] * 4]


def test_nothing_is_tried_before_it_is_due() -> None:
    away = Away(psycopg2.OperationalError("connection refused"))
    away.link.tend()
    away.now += 0.2
    away.link.tend()
    assert away.attempts == 1
    away.now += 0.1
    away.link.tend()
    assert away.attempts == 2


def test_an_error_at_the_very_start_is_for_the_caller() -> None:
    away = Away(psycopg2.OperationalError("connection refused"))
    with pytest.raises(psycopg2.OperationalError):
        away.link.open()
