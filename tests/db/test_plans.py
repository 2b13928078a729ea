"""How many rows the dispatcher's statements read, whatever else is in the queue.

The dispatcher keeps one session for days, and the plans that were made in it while the queue was empty.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from psycopg2.extensions import connection as Connection

from pepsi.db import claims, sync
from pepsi.db.statement import Statement
from pepsi.model import claim
from pepsi.model.row import RowStatus
from pepsi.sched.commands import Claim, Sender, Settlement, Want
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
        sync.run(session, claims.claim(fair("busy")))
        sync.run(session, claims.settle([settlement(1)]))
        sync.run(session, claims.next_due())
        sync.run(session, claims.flip_due(CAPACITY))


def oldest(*stages: str) -> Claim:
    wants = tuple(Want(stage=stage, capacity=CAPACITY) for stage in stages)
    return Claim(token=TOKEN, fair=False, wants=wants)


def fair(*stages: str, **more: Any) -> Claim:
    wants = tuple(Want(stage=stage, capacity=CAPACITY, fifo=2, **more) for stage in stages)
    return Claim(token=TOKEN, fair=True, wants=wants)


def settlement(number: int) -> Settlement:
    return Settlement(workqueue_id=number, claim=TOKEN, status=RowStatus.PENDING)


def fill(queue: Queue, status: str, *, front: str, condition: str, senders: int = 1) -> None:
    """Put a crowd of rows of one stage in, behind some of the same stage whose status is *front*."""
    number = queue.add("seed")
    for each, count in ((front, FRONT), (status, CROWD)):
        queue.database.rows(
            "INSERT INTO pepsi.workqueue (body_id, size, stage, mail_from, recipients, status, claim, timeout) "
            "SELECT body_id, size, 'busy', 's@' || n %% %(senders)s, recipients, %(status)s::text, "
            "CASE WHEN %(status)s::text = 'running' THEN n END, "
            "CASE WHEN %(status)s::text = 'paused' THEN now() + n * interval '1 ms' - interval '1 s' END "
            "FROM pepsi.workqueue, generate_series(1, %(count)s) n WHERE workqueue_id = %(number)s",
            number=number,
            status=each,
            count=count,
            senders=senders,
        )
    if condition == "analysed":
        queue.database.rows("ANALYZE pepsi.workqueue")


@dataclass
class Read:
    """What was read of the queue: rows by a scan of the table, rows by their place, and index entries."""

    by_scan: int = 0
    from_table: int = 0
    from_indexes: int = 0


@contextmanager
def counted(session: Connection) -> Iterator[Read]:
    """Count what is read meanwhile, in one transaction."""
    read = Read()
    ask(session, "BEGIN")
    before = _so_far(session)
    yield read
    after = _so_far(session)
    read.by_scan, read.from_table, read.from_indexes = (late - early for early, late in zip(before, after, strict=True))
    ask(session, "COMMIT")


def _so_far(session: Connection) -> tuple[int, int, int]:
    """What the session has read: it is written down for all to see now and then only."""
    ((by_scan, from_table, from_indexes),) = sync.run(
        session,
        Statement(
            "SELECT t.seq_tup_read, pg_stat_get_xact_tuples_fetched(t.relid), "
            "(SELECT sum(pg_stat_get_xact_tuples_returned(i.indexrelid))::bigint FROM pg_index i "
            "WHERE i.indrelid = t.relid) "
            "FROM pg_stat_xact_user_tables t WHERE t.relid = 'pepsi.workqueue'::regclass"
        ),
    )
    return by_scan, from_table, from_indexes


@contextmanager
def few_rows_read(session: Connection, limit: int) -> Iterator[None]:
    """Promise that what is run meanwhile reads at most *limit* rows and index entries of the queue."""
    with counted(session) as read:
        yield
    assert read.by_scan == 0
    assert read.from_table <= limit
    assert read.from_indexes <= limit


@pytest.fixture
def session(queue: Queue) -> Connection:
    """A session with plans that were made on the empty queue."""
    # Not to be analysed behind our back: that would have every plan made anew.
    queue.database.rows("ALTER TABLE pepsi.workqueue SET (autovacuum_enabled = off)")
    session = queue.database.connect()
    rehearse(session)
    return session


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize(("front", "senders"), [("failed", 1), ("running", 1), ("failed", 30), ("running", 20_000)])
def test_a_claim_reads_no_more_than_a_small_multiple_of_what_it_takes(
    queue: Queue, session: Connection, front: str, senders: int, condition: str
) -> None:
    fill(queue, "pending", front=front, condition=condition, senders=senders)
    for claimer in (session, queue.database.connect()):
        for command, limit in ((oldest("busy", "idle"), 4 * CAPACITY), (fair("busy", "idle"), 9 * CAPACITY)):
            with few_rows_read(claimer, limit):
                rows = sync.run(claimer, claims.claim(command))
            assert len(claims.claimed(command, rows).rows) == CAPACITY


def test_uneven_leads_do_not_make_a_fair_claim_read_much_more(queue: Queue, session: Connection) -> None:
    fill(queue, "pending", front="running", condition="filled", senders=40)
    for leader in ("from:0", "from:39"):
        ahead = tuple(Sender(f"from:{n}", 100.0) for n in range(40) if f"from:{n}" != leader)
        command = fair("busy", senders=ahead)
        with few_rows_read(session, 9 * CAPACITY):
            rows = claims.claimed(command, sync.run(session, claims.claim(command))).rows
        assert sum(row.sender == leader for row in rows) >= CAPACITY - 2


@pytest.mark.parametrize("way", [oldest, fair])
def test_from_a_floor_on_a_claim_does_not_walk_what_an_old_snapshot_keeps(
    queue: Queue, session: Connection, way: Callable[..., Claim]
) -> None:
    fill(queue, "pending", front="failed", condition="filled", senders=3)
    snapshot = queue.database.connect()
    ask(snapshot, "BEGIN ISOLATION LEVEL REPEATABLE READ")
    ask(snapshot, "SELECT count(*) FROM pepsi.schema_release")
    ((floor,),) = ask(session, "SELECT max(workqueue_id) - 1000 FROM pepsi.workqueue")
    ask(session, "DELETE FROM pepsi.workqueue WHERE status = 'pending' AND workqueue_id < %(floor)s", floor=floor)
    for known in ((), (Sender("from:0", 1.0, cast(int, floor)), Sender("from:2", 0.0, cast(int, floor)))):
        command = way("busy")
        command = replace(command, wants=tuple(replace(want, senders=known) for want in command.wants))
        with counted(session) as read:
            sync.run(session, claims.claim(command))
        assert read.from_indexes > CROWD // 2, "without a floor it does"
        wants = tuple(replace(want, floor=cast(int, floor)) for want in command.wants)
        with few_rows_read(session, 9 * CAPACITY):
            rows = sync.run(session, claims.claim(replace(command, wants=wants)))
        assert len(claims.claimed(command, rows).rows) == CAPACITY


@pytest.mark.parametrize("condition", CONDITIONS)
def test_settling_reads_only_the_rows_that_are_settled(queue: Queue, session: Connection, condition: str) -> None:
    fill(queue, "pending", front="running", condition=condition)
    for settler in (session, queue.database.connect()):
        command = oldest("busy")
        claimed = claims.claimed(command, queue.database.run(claims.claim(command))).rows
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
