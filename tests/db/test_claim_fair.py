"""The claim in the fair order takes what its twin takes, and nothing holds it up."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
