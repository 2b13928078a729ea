"""How many rows the dispatcher's statements read, whatever else is in the queue.

The dispatcher keeps one session for days, and the plans that were made in it while the queue was empty.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from psycopg2.extensions import connection as Connection

from pepsi.db import claims, sync
from pepsi.db.statement import Statement
from pepsi.model import claim
from pepsi.model.row import RowStatus
from pepsi.sched.commands import Claim, Settlement, Want
from tests.db.queue import Queue

FRONT, CROWD = 3_000, 97_000
"""Rows in front of those that are asked for, and these.

There are few in front: where nearly every row is asked for, the planner thinks little of walking past the others.
"""
CAPACITY = 20
TOKEN = claim.pack(3, 5)

CONDITIONS = ["filled", "analysed"]


def ask(session: Connection, text: str, **params: object) -> list[tuple[object, ...]]:
    return sync.run(session, Statement(text, params))


def rehearse(session: Connection) -> None:
    """Run everything on the empty queue, often enough for each plan to be kept."""
    for _ in range(6):
        sync.run(session, claims.claim(oldest("busy")))
        sync.run(session, claims.settle([settlement(1)]))
        sync.run(session, claims.next_due())
        sync.run(session, claims.flip_due(CAPACITY))


def oldest(*stages: str) -> Claim:
    wants = tuple(Want(stage=stage, capacity=CAPACITY) for stage in stages)
    return Claim(token=TOKEN, fair=False, wants=wants)


def settlement(number: int) -> Settlement:
    return Settlement(workqueue_id=number, claim=TOKEN, status=RowStatus.PENDING)


def fill(queue: Queue, status: str, *, front: str, condition: str) -> None:
    """Put a crowd of rows of one stage in, behind some of the same stage whose status is *front*."""
    number = queue.add("seed")
    for each, count in ((front, FRONT), (status, CROWD)):
        queue.database.rows(
            "INSERT INTO pepsi.workqueue (body_id, size, stage, mail_from, recipients, status, claim, timeout) "
            "SELECT body_id, size, 'busy', mail_from, recipients, %(status)s::text, "
            "CASE WHEN %(status)s::text = 'running' THEN n END, "
            "CASE WHEN %(status)s::text = 'paused' THEN now() + n * interval '1 ms' - interval '1 s' END "
            "FROM pepsi.workqueue, generate_series(1, %(count)s) n WHERE workqueue_id = %(number)s",
            number=number,
            status=each,
            count=count,
        )
    if condition == "analysed":
        queue.database.rows("ANALYZE pepsi.workqueue")


@contextmanager
def few_rows_read(session: Connection, limit: int) -> Iterator[None]:
    """Promise that what is run meanwhile reads at most *limit* rows and index entries of the queue."""
    ask(session, "BEGIN")
    yield
    ((by_scan, from_table),) = ask(
        session,
        "SELECT seq_tup_read, pg_stat_get_xact_tuples_fetched(relid) FROM pg_stat_xact_user_tables "
        "WHERE relid = 'pepsi.workqueue'::regclass",
    )
    ((from_indexes,),) = ask(
        session,
        "SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid)) FROM pg_index "
        "WHERE indrelid = 'pepsi.workqueue'::regclass",
    )
    ask(session, "COMMIT")
    assert by_scan == 0
    assert from_table <= limit  # type: ignore[operator]
    assert from_indexes <= limit  # type: ignore[operator]


@pytest.fixture
def session(queue: Queue) -> Connection:
    """A session with plans that were made on the empty queue."""
    # Not to be analysed behind our back: that would have every plan made anew.
    queue.database.rows("ALTER TABLE pepsi.workqueue SET (autovacuum_enabled = off)")
    session = queue.database.connect()
    rehearse(session)
    return session


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("front", ["failed", "running"])
def test_a_claim_reads_no_more_than_it_takes(queue: Queue, session: Connection, front: str, condition: str) -> None:
    fill(queue, "pending", front=front, condition=condition)
    for claimer in (session, queue.database.connect()):
        with few_rows_read(claimer, 4 * CAPACITY):
            rows = sync.run(claimer, claims.claim(oldest("busy", "idle")))
        assert len(rows) == CAPACITY


@pytest.mark.parametrize(
    "condition",
    ["filled", "analysed"],
)
def test_settling_reads_only_the_rows_that_are_settled(queue: Queue, session: Connection, condition: str) -> None:
    fill(queue, "pending", front="running", condition=condition)
    for settler in (session, queue.database.connect()):
        claimed = claims.claimed(queue.database.run(claims.claim(oldest("busy"))))
        with few_rows_read(settler, 6 * CAPACITY):
            locked = sync.run(settler, claims.settle([settlement(row.workqueue_id) for row in claimed]))
        assert locked == []
        assert queue.row(claimed[0].workqueue_id)["status"] == "pending"


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("front", ["failed", "pending"])
def test_waking_due_rows_reads_no_more_than_it_wakes(
    queue: Queue, session: Connection, front: str, condition: str
) -> None:
    fill(queue, "paused", front=front, condition=condition)
    for waker in (session, queue.database.connect()):
        with few_rows_read(waker, 4 * CAPACITY):
            assert len(sync.run(waker, claims.flip_due(CAPACITY))) == CAPACITY
        with few_rows_read(waker, 4 * CAPACITY):
            ((delay,),) = sync.run(waker, claims.next_due())
        assert delay == 0.0
