"""The worker's connection, on a real server."""

from collections.abc import Iterator

import pytest

from pepsi.db.faults import Fault
from pepsi.db.statement import Statement
from pepsi.worker.link import DownError, Link, RefusedError
from tests.support_database import Database

SELECT = Statement("SELECT 1")


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def link(database: Database, clock: Clock) -> Iterator[Link]:
    database.connect()  # the tests have a connection of their own
    made = Link(lambda: database.connect("pepsi-stage-work"), clock, lambda: 0.0)
    yield made
    made.close()


def test_a_statement_that_is_refused_costs_no_connection(link: Link) -> None:
    link.open()
    before = link.descriptor
    with pytest.raises(RefusedError, match="nonsense"):
        link.run(Statement("nonsense"))
    assert link.run(SELECT) == [(1,)]
    assert link.descriptor == before


def test_a_server_that_is_read_only_is_left_alone_for_a_while(link: Link, clock: Clock) -> None:
    link.open()
    link.run(Statement("SET default_transaction_read_only = on"))
    with pytest.raises(DownError) as caught:
        link.run(Statement("CREATE TABLE public.x ()"))
    assert caught.value.fault is Fault.READ_ONLY
    assert link.descriptor is None
    assert link.due == 10.0
    with pytest.raises(DownError):
        link.run(SELECT)
    clock.now += 10
    assert link.run(SELECT) == [(1,)]
    assert link.due is None


def test_a_statement_that_takes_too_long_costs_the_connection_and_the_next_has_another(
    link: Link, database: Database
) -> None:
    link.run(Statement("SET statement_timeout = 1"))
    with pytest.raises(DownError) as caught:
        link.run(Statement("SELECT pg_sleep(60)"))
    assert caught.value.fault is Fault.CANCELLED
    assert link.run(SELECT) == [(1,)]


def test_a_connection_that_was_cut_while_idle_is_noticed_and_made_anew(link: Link, database: Database) -> None:
    link.run(SELECT)
    database.rows(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'pepsi-stage-work'"
    )
    # The first look reads what the server said, the second that it is gone.
    link.tend()
    link.tend()
    assert link.run(SELECT) == [(1,)]
