"""Each program with a role of its own can do its work, and not that of another."""

from collections.abc import Iterator

import psycopg2
import pytest
from psycopg2.extensions import connection as Connection

from pepsi.db import claims, schema, sync
from pepsi.db import queue as statements
from pepsi.db.inject import insert
from pepsi.db.leadership import holder_of, lock_holder, try_lock
from pepsi.db.statement import QUERIES, Statement, load
from pepsi.model.envelope import Arrival
from pepsi.sched.commands import Claim, Want
from pepsi.tools.schema import install, state_of, upgrade
from tests.db.queue import EPOCH, TOKEN, Queue

ARRIVAL = Arrival(mail_from="a@b", recipients=("c@d",), message=b"\r\nbody")
DISPATCH, STAGE, INGRESS, ADMIN = "pepsi_dispatch", "pepsi_stage", "pepsi_ingress", "pepsi_admin"
ROLES = [DISPATCH, STAGE, INGRESS, ADMIN]


@pytest.fixture
def roles(queue: Queue) -> Iterator[Queue]:
    """A queue with the roles made. They belong to the whole server, and are dropped with the test."""
    connection = queue.database.connect()
    install(connection, schema.shipped(), roles=True)
    yield queue
    for role in ROLES:
        queue.database.rows(f"DROP OWNED BY {role}")
    queue.database.rows("DROP ROLE pepsi_dispatch, pepsi_stage, pepsi_ingress, pepsi_admin")


def acting(queue: Queue, role: str) -> Connection:
    connection = queue.database.connect()
    sync.run(connection, Statement(f"SET SESSION AUTHORIZATION {role}"))
    return connection


def refused(connection: Connection, text: str) -> bool:
    try:
        sync.run(connection, Statement(text))
    except psycopg2.errors.InsufficientPrivilege:
        return True
    return False


def test_the_roles_are_made_as_often_as_asked(roles: Queue) -> None:
    assert install(roles.database.connect(), schema.shipped(), roles=True).startswith("the database holds release")


def test_every_role_can_check_the_schema(roles: Queue) -> None:
    for role in ROLES:
        assert str(state_of(acting(roles, role), schema.shipped())).endswith("which is this Pepsi's")


def test_the_door_puts_mail_in_and_reads_none(roles: Queue) -> None:
    door = acting(roles, INGRESS)
    ((number,),) = sync.run(door, insert([ARRIVAL], "a"))
    assert roles.message(number) == ARRIVAL.message
    inject = "SELECT pepsi.workqueue_inject('a', 'a@b', '{c@d}', '\\x0d0a')"
    assert sync.run(door, Statement(inject)) == [(number + 1,)]
    assert refused(door, "SELECT mail_from FROM pepsi.workqueue")
    assert refused(door, "SELECT body FROM pepsi.workqueue_body")
    assert refused(door, "DELETE FROM pepsi.workqueue")
    assert refused(door, "UPDATE pepsi.workqueue SET stage = 'b'")


def test_a_worker_does_all_that_an_outcome_needs(roles: Queue) -> None:
    worker = acting(roles, STAGE)
    calls = [
        'workqueue_split(%(id)s, %(claim)s, \'[["r@example.org"], ["s@example.org"]]\')',
        "workqueue_advance(%(id)s, %(claim)s, 'b', 'x@y', '{z@y}', '{\"a\": 1}', 'head', 'body', 'f', 's')",
        "workqueue_pause(%(id)s, %(claim)s, 60, 'later', clones => '[{\"stage\": \"b\"}]')",
        "workqueue_requeue(%(id)s, %(claim)s)",
        "workqueue_fail(%(id)s, %(claim)s, 'no')",
        'workqueue_finish(%(id)s, %(claim)s, \'[{"stage": "b"}]\')',
        "workqueue_finish(%(id)s, %(claim)s)",
    ]
    for call in calls:
        number = roles.running(recipients=["r@example.org", "s@example.org"])
        load_it = Statement("SELECT FROM pepsi.workqueue_load(%(id)s, %(epoch)s)", {"id": number, "epoch": EPOCH})
        assert sync.run(worker, load_it)
        assert sync.run(worker, Statement(f"SELECT pepsi.{call}", {"id": number, "claim": TOKEN})) == [(True,)]
    assert refused(worker, "UPDATE pepsi.workqueue SET received_at = now()")
    assert refused(worker, "UPDATE pepsi.workqueue_body SET body = ''")
    assert refused(worker, "UPDATE pepsi.dispatcher_epoch SET epoch = 1")
    assert refused(worker, "DELETE FROM pepsi.config_override")


def test_a_worker_reads_what_is_set_and_changes_nothing_of_it(roles: Queue) -> None:
    roles.database.rows("INSERT INTO pepsi.settings VALUES ('*', 'a', 'K', 'v')")
    worker = acting(roles, STAGE)
    found = sync.run(worker, Statement("SELECT pepsi.settings_of('{a}', '{K}', 'a@b', '{c@d}', '{}')"))
    assert found == [([["*", "a", "K", "v"]],)]
    for text in ("INSERT INTO pepsi.settings VALUES ('*', 'a', 'L', 'v')", "DELETE FROM pepsi.settings"):
        assert refused(worker, text)
        assert not refused(acting(roles, ADMIN), text)


def test_the_dispatcher_moves_rows_and_sweeps_bodies(roles: Queue) -> None:
    roles.add()
    dispatcher = acting(roles, DISPATCH)
    moved = "UPDATE pepsi.workqueue SET status = 'running', claim = %(token)s RETURNING status"
    assert sync.run(dispatcher, Statement(moved, {"token": TOKEN})) == [("running",)]
    assert sync.run(dispatcher, Statement("SELECT pepsi.workqueue_body_gc()")) == [(0,)]
    assert refused(dispatcher, "UPDATE pepsi.schema_release SET release = 1")
    assert refused(dispatcher, "DELETE FROM pepsi.config_override")


def test_the_dispatcher_claims_in_either_order(roles: Queue) -> None:
    dispatcher = acting(roles, DISPATCH)
    for fair in (False, True):
        roles.add()
        command = Claim(token=TOKEN, fair=fair, wants=(Want(stage="a", capacity=4, fifo=1),))
        assert len(claims.claimed(command, sync.run(dispatcher, claims.claim(command))).rows) == 1


def test_the_dispatcher_may_do_all_that_its_statements_do(roles: Queue) -> None:
    dispatcher = acting(roles, DISPATCH)
    for file in ("claims", "leadership", "statistics", "housekeeping", "overlay", "schema"):
        for name, query in load([QUERIES / f"{file}.sql"]).items():
            if name not in ("schema_drop", "try_lock", "schema_lock"):
                # Privileges are checked before anything is explained, and nothing is run.
                text = f"EXPLAIN {query.text}"
                sync.run(dispatcher, Statement(text, dict.fromkeys(query.placeholders)))


def test_the_dispatcher_may_end_the_sessions_of_workers(roles: Queue) -> None:
    worker = roles.database.connect(dsn=f"{roles.database.dsn} user={STAGE}")
    dispatcher = roles.database.connect(dsn=f"{roles.database.dsn} user={DISPATCH}")
    end = Statement("SELECT pg_terminate_backend(%(pid)s)", {"pid": worker.info.backend_pid})
    assert sync.run(dispatcher, end) == [(True,)]
    with pytest.raises(psycopg2.OperationalError):
        sync.run(worker, Statement("SELECT 1"))


def test_an_operator_changes_all_but_the_record_of_the_schema(roles: Queue) -> None:
    roles.add()
    admin = acting(roles, ADMIN)
    sync.run(admin, Statement("UPDATE pepsi.workqueue SET stage = 'b'"))
    sync.run(admin, Statement("DELETE FROM pepsi.workqueue"))
    sync.run(admin, Statement("INSERT INTO pepsi.config_override VALUES ('stage-a', 'K', 'v')"))
    sync.run(admin, Statement("INSERT INTO pepsi.list VALUES ('l@x')"))
    assert refused(admin, "DELETE FROM pepsi.schema_release")
    assert refused(admin, "DROP TABLE pepsi.list")
    assert refused(admin, "CREATE TABLE pepsi.mine ()")


def test_an_operator_may_do_all_that_the_tools_statements_do(roles: Queue) -> None:
    admin = acting(roles, ADMIN)
    for query in load([QUERIES / "queue.sql", QUERIES / "overlay.sql"]).values():
        sync.run(admin, Statement(f"EXPLAIN {query.text}", dict.fromkeys(query.placeholders)))
    number = roles.add()
    assert sync.run(admin, statements.set_stage(number, "b"))[0][:2] == ("a", "pending")
    # The trigger that deletes the body runs with the rights of whoever deletes the row.
    assert sync.run(admin, statements.delete(number))[0][:2] == ("b", "pending")
    assert roles.bodies() == 0
    assert sync.run(admin, try_lock()) == [(True,)]
    assert f"server process {admin.info.backend_pid}" in holder_of(sync.run(admin, lock_holder()))


def test_nobody_else_gets_in(roles: Queue) -> None:
    roles.database.rows("CREATE ROLE pepsi_test_stranger")
    try:
        stranger = acting(roles, "pepsi_test_stranger")
        assert refused(stranger, "SELECT FROM pepsi.workqueue")
        assert refused(stranger, "SELECT pepsi.workqueue_body_gc()")
        stranger.close()
    finally:
        roles.database.rows("DROP ROLE pepsi_test_stranger")


def test_an_upgrade_gives_the_roles_their_rights_again(roles: Queue) -> None:
    files = schema.shipped()
    newer = schema.SqlFile(number=len(files) + 1, name="later.sql", text="SELECT 1")
    roles.database.rows("REVOKE SELECT ON pepsi.config_override FROM pepsi_stage")
    upgrade(roles.database.connect(), (*files, newer))
    assert not refused(acting(roles, STAGE), "SELECT FROM pepsi.config_override")
