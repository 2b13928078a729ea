"""What a worker loads and writes, on a real server."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg2.extensions import connection as Connection

from pepsi.db import messages, sync
from pepsi.db.inject import insert
from pepsi.errors import StageError
from pepsi.model import claim
from pepsi.model.envelope import Arrival
from pepsi.model.message import Message, Need
from pepsi.model.outcome import Advance, Changes, Clone, Fail, Finish, Outcome, Pause, Requeue
from pepsi.model.row import FailureClass, RowStatus
from tests.support_database import Database

MESSAGE = b"From: Anna <anna@example.org>\r\nSubject: first\r\n\r\nbody\r\n"
TOKEN = claim.pack(3, 7)


def put(database: Database, count: int = 1, **given: Any) -> list[int]:
    """Put messages in, and claim them as a dispatcher would."""
    arrival = Arrival(
        mail_from="anna@example.org", recipients=("bob@example.net", "carl@example.net"), message=MESSAGE, **given
    )
    ids = [number for (number,) in database.run(insert([arrival] * count, "sort"))]
    database.rows("UPDATE pepsi.workqueue SET status = 'running', claim = %(claim)s", claim=TOKEN)
    return ids


def worker(database: Database, need: Need = Need.METADATA) -> Connection:
    connection = database.connect("pepsi-stage-sort", synchronous_commit=False)
    sync.run(connection, messages.prepare(need))
    return connection


def load(connection: Connection, ids: list[int]) -> list[Message]:
    return list(messages.loaded(sync.run(connection, messages.load(ids))).values())


def write(connection: Connection, *decided: tuple[Message, Outcome]) -> set[int]:
    """Write outcomes, and return the ids that were hit."""
    writes = [messages.write(message, outcome) for message, outcome in decided]
    return {row[0] for statement, _ in messages.statements(writes) for row in sync.run(connection, statement)}


def decide(database: Database, outcome: Outcome, state: dict[str, Any] | None = None) -> dict[str, Any]:
    """Put one message in, write *outcome* for it, and return its row."""
    (number,) = put(database, state=state or {})
    connection = worker(database)
    (message,) = load(connection, [number])
    assert write(connection, (message, outcome)) == {number}
    return row(database, number)


def row(database: Database, number: int) -> dict[str, Any]:
    ((value,),) = database.rows("SELECT to_jsonb(w) FROM pepsi.workqueue w WHERE workqueue_id = %(id)s", id=number)
    return dict(value)


def test_a_message_is_loaded_as_it_was_put_in(database: Database) -> None:
    (number,) = put(database, peer="192.0.2.7", auth_login="anna", state={"spf": {"result": "pass"}})
    (message,) = load(worker(database, Need.BODY), [number])
    assert message.workqueue_id == number
    assert (message.claim, message.stage) == (TOKEN, "sort")
    assert message.mail_from == "anna@example.org"
    assert message.recipients == ("bob@example.net", "carl@example.net")
    assert (message.header_from, message.subject) == ("Anna <anna@example.org>", "first")
    assert (message.peer, message.auth_login) == ("192.0.2.7", "anna")
    assert message.state == {"spf": {"result": "pass"}}
    assert message.size == len(MESSAGE)
    assert message.header_block is not None
    assert message.body is not None
    assert message.header_block + message.body == MESSAGE
    assert abs(message.received_at - datetime.now(UTC)) < timedelta(hours=1)
    assert message.age >= 0


@pytest.mark.parametrize(("need", "parts"), [(Need.METADATA, (False, False)), (Need.HEADERS, (True, False))])
def test_no_more_is_loaded_than_the_stage_needs(database: Database, need: Need, parts: tuple[bool, bool]) -> None:
    (message,) = load(worker(database, need), put(database))
    assert (message.header_block is not None, message.body is not None) == parts


def test_the_age_of_a_message_counts_from_its_arrival_by_the_clock_of_the_database(database: Database) -> None:
    (number,) = put(database)
    database.rows("UPDATE pepsi.workqueue SET received_at = now() - interval '2 hours'")
    (message,) = load(worker(database), [number])
    assert 7200 <= message.age < 7300


def test_only_messages_that_run_are_loaded(database: Database) -> None:
    first, second = put(database, 2)
    database.rows("UPDATE pepsi.workqueue SET status = 'pending', claim = NULL WHERE workqueue_id = %(id)s", id=first)
    assert [message.workqueue_id for message in load(worker(database), [first, second, 2**62])] == [second]


@pytest.mark.parametrize("need", Need)
def test_what_runs_under_a_former_epoch_is_begun_by_nobody(database: Database, need: Need) -> None:
    number, connection = put(database)[0], worker(database, need)
    epoch = claim.epoch_of(TOKEN)
    for present, loaded in ((epoch - 1, 1), (epoch, 1), (epoch + 1, 0)):
        database.rows("UPDATE pepsi.dispatcher_epoch SET epoch = %(present)s", present=present)
        assert len(load(connection, [number])) == loaded


def test_an_advance_moves_the_row_on_and_leaves_strikes_behind(database: Database) -> None:
    changes = Changes(
        mail_from="", recipients=("dora@example.org",), state={"seen": True, "gone": None, "deep": {"null": None}}
    )
    state = {"strikes": 2, "temporary_failures": 1, "gone": 1, "kept": "x"}
    after = decide(database, Advance(stage="next", changes=changes), state)
    assert (after["status"], after["stage"], after["claim"]) == ("pending", "next", None)
    assert (after["mail_from"], after["recipients"]) == ("", ["dora@example.org"])
    assert after["state"] == {"kept": "x", "seen": True, "deep": {"null": None}}


def test_an_advance_without_changes_leaves_all_else_as_it_is(database: Database) -> None:
    after = decide(database, Advance(stage="next"), {"kept": 1})
    assert (after["mail_from"], after["recipients"]) == ("anna@example.org", ["bob@example.net", "carl@example.net"])
    assert after["state"] == {"kept": 1}


def test_a_requeue_keeps_the_stage_and_the_strikes(database: Database) -> None:
    after = decide(database, Requeue(changes=Changes(state={"again": 1})), {"strikes": 1})
    assert (after["status"], after["stage"], after["state"]) == ("pending", "sort", {"strikes": 1, "again": 1})


def test_a_pause_is_due_after_its_delay_and_says_why(database: Database) -> None:
    after = decide(database, Pause(delay=90.0, reason="not\nnow"), {"strikes": 1})
    assert (after["status"], after["stage"]) == ("paused", "sort")
    assert after["state"] == {"strikes": 1, "last_error": "not now"}
    due = database.value("SELECT extract(epoch FROM timeout - now())::float8 FROM pepsi.workqueue")
    assert 80 < due <= 90


def test_a_pause_without_a_delay_is_parked(database: Database) -> None:
    after = decide(database, Pause(delay=None))
    assert (after["status"], after["timeout"], after["state"]) == ("paused", None, {})


def test_a_failure_is_kept_with_its_three_marks(database: Database) -> None:
    after = decide(database, Fail(reason="bad", failure_class=FailureClass.RETRIES_EXHAUSTED))
    assert after["status"] == "failed"
    assert after["state"] == {"last_error": "bad", "failed_stage": "sort", "failure_class": "retries-exhausted"}


def test_a_finished_message_leaves_nothing(database: Database) -> None:
    (number,) = put(database)
    connection = worker(database)
    assert write(connection, (load(connection, [number])[0], Finish())) == {number}
    assert database.value("SELECT count(*) FROM pepsi.workqueue") == 0
    assert database.value("SELECT count(*) FROM pepsi.workqueue_body") == 0


CLONES = (
    Clone(stage="bounce", recipients=("bob@example.net",), mail_from="", state={"reason": "x"}),
    Clone(stage="sort", recipients=("carl@example.net",), status=RowStatus.FAILED),
)


def test_a_finish_puts_its_clones_in_place_of_the_row(database: Database) -> None:
    (number,) = put(database, state={"kept": 1, "strikes": 1})
    connection = worker(database)
    assert write(connection, (load(connection, [number])[0], Finish(clones=CLONES))) == {number}
    rows = database.rows("SELECT stage, status, mail_from, recipients, state FROM pepsi.workqueue ORDER BY stage")
    assert rows == [
        ("bounce", "pending", "", ["bob@example.net"], {"kept": 1, "reason": "x"}),
        ("sort", "failed", "anna@example.org", ["carl@example.net"], {"kept": 1}),
    ]


def test_a_pause_can_spawn_clones_and_rewrite_the_message(database: Database) -> None:
    changes = Changes(recipients=("dora@example.org",), header_block=b"Subject: second\r\n\r\n", body=b"other\r\n")
    outcome = Pause(delay=5, reason="later", changes=changes, clones=CLONES)
    after = decide(database, outcome)
    assert (after["status"], after["recipients"], after["subject"]) == ("paused", ["dora@example.org"], "second")
    assert after["state"] == {"last_error": "later"}
    assert after["size"] == len(b"Subject: second\r\n\r\nother\r\n")
    assert database.value("SELECT count(*) FROM pepsi.workqueue") == 3


def test_a_rewritten_message_is_loaded_as_rewritten_and_shown_so(database: Database) -> None:
    (number,) = put(database)
    connection = worker(database, Need.BODY)
    (message,) = load(connection, [number])
    changes = Changes(header_block=b"From: x\r\nSubject: =?utf-8?q?=C3=A4?=\r\n\r\n", body=b"\0\xff")
    assert write(connection, (message, Advance(stage="sort", changes=changes))) == {number}
    database.rows("UPDATE pepsi.workqueue SET status = 'running', claim = 1")
    (again,) = load(connection, [number])
    assert (again.header_block, again.body) == (changes.header_block, changes.body)
    assert (again.header_from, again.subject) == ("x", "ä")
    assert database.value("SELECT count(*) FROM pepsi.workqueue_body") == 1


EACH_OUTCOME = [
    Advance(stage="next"),
    Advance(stage="next", changes=Changes(body=b"x")),
    Requeue(),
    Pause(delay=1),
    Pause(delay=1, clones=CLONES),
    Fail(reason="bad"),
    Finish(),
    Finish(clones=CLONES),
]


@pytest.mark.parametrize("outcome", EACH_OUTCOME, ids=repr)
def test_a_row_that_was_claimed_anew_is_not_touched(database: Database, outcome: Outcome) -> None:
    (number,) = put(database)
    connection = worker(database)
    (message,) = load(connection, [number])
    database.rows("UPDATE pepsi.workqueue SET claim = claim + 1")
    before = row(database, number)
    assert write(connection, (message, outcome)) == set()
    assert row(database, number) == before
    assert database.value("SELECT count(*) FROM pepsi.workqueue") == 1
    assert database.value("SELECT count(*) FROM pepsi.workqueue_body") == 1


@pytest.mark.parametrize("outcome", EACH_OUTCOME, ids=repr)
def test_a_row_that_is_gone_is_not_hit(database: Database, outcome: Outcome) -> None:
    (number,) = put(database)
    connection = worker(database)
    (message,) = load(connection, [number])
    database.rows("DELETE FROM pepsi.workqueue")
    assert write(connection, (message, outcome)) == set()
    assert database.value("SELECT count(*) FROM pepsi.workqueue") == 0


def test_many_outcomes_of_all_kinds_take_few_statements_and_hit_each_its_own_row(database: Database) -> None:
    ids = put(database, 8)
    connection = worker(database)
    loaded = {message.workqueue_id: message for message in load(connection, ids)}
    decided = [(loaded[number], outcome) for number, outcome in zip(ids, EACH_OUTCOME, strict=True)]
    writes = [messages.write(message, outcome) for message, outcome in decided]
    assert len(list(messages.statements(writes))) == 5
    assert write(connection, *decided) == set(ids)
    rows = dict(
        database.rows("SELECT workqueue_id, status FROM pepsi.workqueue WHERE workqueue_id = ANY(%(ids)s)", ids=ids)
    )
    assert [rows.get(number) for number in ids] == [
        "pending",
        "pending",
        "pending",
        "paused",
        "paused",
        "failed",
        None,
        None,
    ]


HOSTILE = "a\0b\ud800\\ ' \" %s %(x)s \r"


def test_hostile_text_in_an_outcome_is_stored_without_what_postgresql_refuses(database: Database) -> None:
    changes = Changes(mail_from=HOSTILE, recipients=(HOSTILE,), state={HOSTILE: [HOSTILE, {"x": HOSTILE}]})
    clean = HOSTILE.replace("\0", "").replace("\ud800", "\ufffd")
    after = decide(database, Pause(delay=1, reason=HOSTILE, changes=changes))
    assert (after["mail_from"], after["recipients"]) == (clean, [clean])
    assert after["state"] == {"last_error": "ab\ufffd\\ ' \" %s %(x)s", clean: [clean, {"x": clean}]}


def test_a_reason_of_a_megabyte_is_stored_cut(database: Database) -> None:
    after = decide(database, Fail(reason="é" * 1_000_000))
    assert after["state"]["last_error"] == "é" * 512


NESTED: list[Any] = []
for _ in range(100):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        "next",
        Advance(stage=""),
        Advance(stage=None),  # type: ignore[arg-type]
        Advance(stage="x", changes=Changes(recipients=())),
        Advance(stage="x", changes=Changes(recipients="bob@example.net")),  # type: ignore[arg-type]
        Advance(stage="x", changes=Changes(recipients=("",))),
        Advance(stage="x", changes=Changes(mail_from=b"x")),  # type: ignore[arg-type]
        Advance(stage="x", changes=Changes(state={"x": float("nan")})),
        Advance(stage="x", changes=Changes(state={"x": b"bytes"})),
        Advance(stage="x", changes=Changes(state={"x": NESTED})),
        Advance(stage="x", changes=Changes(state=[1])),  # type: ignore[arg-type]
        Pause(delay=-1),
        Pause(delay=float("inf")),
        Fail(reason="x", changes=Changes(body=b"x")),
        Requeue(changes=Changes(header_block=b"x")),
        Finish(clones=(Clone(stage="", recipients=("x",)),)),
        Finish(clones=(Clone(stage="x", recipients=()),)),
    ],
    ids=lambda outcome: repr(outcome)[:60],
)
def test_what_cannot_be_written_is_refused_before_it_reaches_the_database(outcome: Outcome) -> None:
    message = Message(
        workqueue_id=1, claim=1, stage="s", received_at=datetime.now(UTC), age=0.0, mail_from="", recipients=("x",)
    )
    with pytest.raises(StageError):
        messages.write(message, outcome)


@pytest.mark.parametrize("filled", [False, True])
def test_the_plans_made_for_an_empty_table_use_the_primary_key(database: Database, filled: bool) -> None:
    if filled:
        put(database, 500)
        database.rows("ANALYZE pepsi.workqueue")
    connection = worker(database)
    calls = [
        "EXECUTE pepsi_load ('{1}', '{}', '{}')",
        f"EXECUTE pepsi_settle ('{{1}}', '{json.dumps([{'id': 1}])}')",
        "EXECUTE pepsi_finish ('{1}', '{1}')",
    ]
    with connection.cursor() as cursor:
        for call in calls:
            cursor.execute(f"EXPLAIN {call}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert "workqueue_pkey" in plan, plan
            assert "Seq Scan on workqueue" not in plan, plan
