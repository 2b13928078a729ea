"""Who holds the oldest snapshot is found, whoever it is, and nobody is accused who holds nothing back."""

from collections.abc import Iterator

import pytest
from psycopg2.extensions import connection as Connection

from pepsi.db import housekeeping, sync
from pepsi.db.statement import Statement
from pepsi.sched.lookout import Holder, Sight
from tests.db.queue import Queue
from tests.support_database import Database, new_database


@pytest.fixture(autouse=True)
def onlooker(queue: Queue) -> None:
    """The session that looks, connected before those that hold something."""
    queue.database.connect("onlooker")


def look(database: Database, connection: Connection | None = None) -> Sight:
    statement = housekeeping.oldest_snapshot()
    (row,) = database.run(statement) if connection is None else sync.run(connection, statement)
    return housekeeping.sight(row)


def held(connection: Connection) -> None:
    """Let *connection* hold a snapshot."""
    sync.run(connection, Statement("BEGIN ISOLATION LEVEL REPEATABLE READ"))
    sync.run(connection, Statement("SELECT FROM pepsi.workqueue"))


def test_where_nobody_holds_anything_there_is_no_holder(queue: Queue) -> None:
    assert look(queue.database).holder is None


def test_a_forgotten_transaction_is_named_and_its_age_told(queue: Queue) -> None:
    other = queue.database.connect("forgetful")
    held(other)
    for _ in range(3):
        queue.add()
    found = look(queue.database).holder
    assert found is not None
    assert (found.kind, found.name, found.application) == ("session", str(other.info.backend_pid), "forgetful")
    assert found.seconds is not None
    assert found.seconds > 0
    assert found.transactions >= 3
    sync.run(other, Statement("ROLLBACK"))
    assert look(queue.database).holder is None


def test_a_transaction_that_wrote_and_went_to_sleep_is_found(queue: Queue) -> None:
    other = queue.database.connect("sleeper")
    sync.run(other, Statement("BEGIN"))
    sync.run(other, Statement("UPDATE pepsi.dispatch_stats SET stages_executed = 0"))
    queue.add()
    found = look(queue.database).holder
    assert found is not None
    assert found.application == "sleeper"


def test_the_oldest_of_several_is_named(queue: Queue) -> None:
    for name in ("first", "second"):
        held(queue.database.connect(name))
        queue.add()
    found = look(queue.database).holder
    assert found is not None
    assert found.application == "first"


def test_a_session_of_another_database_holds_nothing_back(queue: Queue, server: str) -> None:
    with new_database(server) as elsewhere:
        other = elsewhere.connect()
        sync.run(other, Statement("BEGIN ISOLATION LEVEL REPEATABLE READ"))
        sync.run(other, Statement("SELECT FROM pg_class"))
        queue.add()
        assert look(queue.database).holder is None


@pytest.fixture
def stranger(queue: Queue) -> Iterator[Connection]:
    """A session of a role that may not look at other people's."""
    name = f"pepsi_test_stranger_{queue.database.connect().info.backend_pid}"
    queue.database.rows(f"CREATE ROLE {name}")
    queue.database.rows(f"GRANT USAGE ON SCHEMA pepsi TO {name}")
    connection = queue.database.connect()
    sync.run(connection, Statement(f"SET SESSION AUTHORIZATION {name}"))
    yield connection
    connection.close()
    queue.database.rows(f"DROP OWNED BY {name}")
    queue.database.rows(f"DROP ROLE {name}")


def test_a_role_without_rights_learns_who_it_is_but_not_since_when(queue: Queue, stranger: Connection) -> None:
    other = queue.database.connect("forgetful")
    held(other)
    queue.add()
    found = look(queue.database, stranger).holder
    assert isinstance(found, Holder)
    assert (found.kind, found.name, found.seconds) == ("session", str(other.info.backend_pid), None)
    assert found.transactions >= 1
