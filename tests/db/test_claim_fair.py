"""The claim in the fair order takes what its twin takes, and nothing holds it up."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg2.extensions import connection as Connection

from pepsi.db import claims, sync
from pepsi.db.statement import Statement
from pepsi.sched.commands import Claim, Sender, Want
from pepsi.sched.events import Claimed
from pepsi.sched.ranking import choose
from tests.db.queue import TOKEN, Queue

STAGES = ("a", "b", "é", "zz")
KEYS = (
    "user:0",
    "user:1",
    "user:é",
    "user:z",
    "user:~",
    "user:\U0001f600",
    "user:zz",
    *(f"user:{n}" for n in range(90)),
)


def ask(session: Connection, text: str, **params: object) -> list[tuple[object, ...]]:
    return sync.run(session, Statement(text, params))


def fill(session: Connection, rows: Sequence[tuple[int, str, str]], status: str = "pending") -> None:
    """Put rows in: ids, stages and senders."""
    ask(
        session,
        "WITH shared AS (INSERT INTO pepsi.workqueue_body (header_block, body) VALUES ('', '') RETURNING body_id) "
        "INSERT INTO pepsi.workqueue (workqueue_id, body_id, size, stage, mail_from, recipients, auth_login, status) "
        "OVERRIDING SYSTEM VALUE SELECT r.id, body_id, 0, r.stage, '', '{r}', r.login, %(status)s "
        "FROM shared, jsonb_to_recordset(%(rows)s::jsonb) r (id bigint, stage text, login text)",
        rows=json.dumps([{"id": n, "stage": stage, "login": key.removeprefix("user:")} for n, stage, key in rows]),
        status=status,
    )


def claim(session: Connection, *wants: Want) -> Claimed:
    command = Claim(token=TOKEN, fair=True, wants=wants)
    return claims.claimed(command, sync.run(session, claims.claim(command)))


def ids(claimed: Claimed) -> list[int]:
    return [row.workqueue_id for row in claimed.rows]


@contextmanager
def undone(session: Connection) -> Iterator[Connection]:
    """Undo what is done meanwhile."""
    ask(session, "BEGIN")
    try:
        yield session
    finally:
        ask(session, "ROLLBACK")


@st.composite
def senders(draw: st.DrawFn, keys: Sequence[str]) -> tuple[Sender, ...]:
    named = draw(st.lists(st.sampled_from(keys), unique=True, max_size=30))
    leads = st.one_of(st.just(0.0), st.sampled_from([0.01, 0.02, 0.5]), st.floats(0, 1e6))
    return tuple(Sender(key, draw(leads), draw(st.sampled_from([0, 0, 1, 40, 200]))) for key in named)


@st.composite
def wants(draw: st.DrawFn, keys: Sequence[str]) -> list[Want]:
    stages = draw(st.lists(st.sampled_from(STAGES), unique=True, min_size=1))
    found = []
    for stage in stages:
        capacity = draw(st.one_of(st.integers(1, 12), st.integers(1, 100)))
        found.append(
            Want(
                stage=stage,
                capacity=capacity,
                fifo=draw(st.integers(0, min(capacity, 5))),
                average=draw(st.one_of(st.just(0.01), st.floats(1e-6, 300))),
                after=draw(st.one_of(st.just(""), st.sampled_from(keys))),
                floor=draw(st.sampled_from([0, 0, 1, 30, 100])),
                senders=draw(senders(keys)),
            )
        )
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), many=st.booleans())
def test_the_twin_chooses_the_same_rows_in_the_same_order(queue: Queue, data: st.DataObject, many: bool) -> None:
    keys = KEYS if many else KEYS[:8]
    pick = data.draw(st.randoms(use_true_random=False))
    count = data.draw(st.integers(0, 300))
    rows = [(number, pick.choice(STAGES[:2]), pick.choice(keys)) for number in pick.sample(range(1, 600), count)]
    asked = data.draw(wants(keys))
    with undone(queue.database.connection) as session:
        fill(session, rows)
        claimed = claim(session, *asked)
    choices = [choose(want, [(number, key) for number, stage, key in rows if stage == want.stage]) for want in asked]
    assert ids(claimed) == [number for choice in choices for number in choice.ids]
    assert list(claimed.windows) == [choice.window for choice in choices]
    assert {(row.workqueue_id, row.stage, row.sender) for row in claimed.rows} <= set(rows)


def agrees(session: Connection, want: Want, rows: Sequence[tuple[int, str, str]]) -> Claimed:
    """Claim, and see that the twin would have chosen the same."""
    claimed = claim(session, want)
    choice = choose(want, [(number, key) for number, stage, key in rows if stage == want.stage])
    assert ids(claimed) == list(choice.ids)
    assert claimed.windows == (choice.window,)
    return claimed


def test_many_senders_that_are_known_and_do_not_wait_end_the_window(queue: Queue) -> None:
    rows = [(number, "a", f"user:{number:03}") for number in range(200, 210)]
    fill(queue.database.connection, rows)
    known = tuple(Sender(f"user:{number:03}", 1.0, 5) for number in range(150))
    first = agrees(queue.database.connection, Want(stage="a", capacity=3, senders=known), rows)
    assert not first.rows
    assert not first.windows[0].complete
    further = Want(stage="a", capacity=3, senders=known, after=first.windows[0].last)
    last = agrees(queue.database.connection, replace(further, after="user:100"), rows)
    assert ids(last) == [200, 201, 202]


def test_leads_far_apart_of_senders_with_few_rows_leave_no_room_unused(queue: Queue) -> None:
    rows = [(number, "a", f"user:{number % 50:02}") for number in range(100, 200)]
    fill(queue.database.connection, rows)
    apart = tuple(Sender(f"user:{number:02}", 100.0 * number) for number in range(50))
    claimed = agrees(queue.database.connection, Want(stage="a", capacity=99, fifo=7, senders=apart), rows)
    assert len(claimed.rows) == 99


def test_a_row_brings_its_sender_and_its_counters(queue: Queue) -> None:
    number = queue.add(auth_login="somebody", state={"strikes": 2, "interrupted": 4})
    odd = queue.add(auth_login="x", state={"strikes": "many", "interrupted": -1})
    for fair in (False, True):
        command = Claim(token=TOKEN, fair=fair, wants=(Want(stage="a", capacity=5),))
        with undone(queue.database.connection) as session:
            rows = claims.claimed(command, sync.run(session, claims.claim(command))).rows
            assert queue.row(number)["claim"] == TOKEN
        assert [(row.workqueue_id, row.sender, row.strikes, row.interrupted) for row in rows] == [
            (number, "user:somebody", 2, 4),
            (odd, "user:x", 0, 0),
        ]


@pytest.mark.parametrize("fifo", [0, 2])
def test_rows_that_somebody_has_locked_are_stepped_over(queue: Queue, fifo: int) -> None:
    rows = [(number, "a", "user:bulk" if number < 150 else "user:light") for number in range(100, 152)]
    fill(queue.database.connection, rows)
    somebody = queue.database.connect()
    ask(somebody, "BEGIN")
    ask(somebody, "SELECT FROM pepsi.workqueue WHERE workqueue_id < 140 OR workqueue_id = 150 FOR UPDATE")
    claimed = claim(queue.database.connection, Want(stage="a", capacity=5, fifo=fifo))
    assert sorted(ids(claimed)) == [140, 141, 142, 143, 151]


def test_a_sender_whose_rows_are_all_locked_holds_up_nobody_and_is_passed(queue: Queue) -> None:
    rows = [(number, "a", "user:0") for number in range(100, 140)] + [(140, "a", "user:1")]
    fill(queue.database.connection, rows)
    somebody = queue.database.connect()
    ask(somebody, "BEGIN")
    ask(somebody, "SELECT FROM pepsi.workqueue WHERE workqueue_id < 140 FOR UPDATE")
    claimed = claim(queue.database.connection, Want(stage="a", capacity=5))
    assert ids(claimed) == [140]
    assert claimed.windows[0].last == "user:1"


def test_a_key_cannot_be_mistaken_for_a_pattern_or_a_statement(queue: Queue) -> None:
    hostile = ["%", "_", "'; DROP TABLE pepsi.workqueue; --", "\\", "{,}", '"', "NULL", "\x7f", "\u00ff", "a" * 400]
    rows = [(number, "a", f"user:{key}"[:300]) for number, key in enumerate(hostile, 100)]
    fill(queue.database.connection, rows)
    known = tuple(Sender(key, 0.05 * place, 50) for place, (_, _, key) in enumerate(rows))
    agrees(queue.database.connection, Want(stage="a", capacity=7, senders=known, after=rows[4][2]), rows)
