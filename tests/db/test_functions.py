"""What a worker in any language may do to a row that it was handed."""

import json
from datetime import datetime
from typing import Any

import psycopg2
import pytest

from pepsi.db import sync
from pepsi.db.statement import Statement
from pepsi.model.row import CLEARED_BY_ADVANCE
from tests.db.queue import EPOCH, TOKEN, Queue

OUTCOMES = [
    "workqueue_advance(%(id)s, %(claim)s, 'b')",
    "workqueue_advance(%(id)s, %(claim)s, 'b', body => 'other')",
    "workqueue_finish(%(id)s, %(claim)s)",
    """workqueue_finish(%(id)s, %(claim)s, '[{"stage": "b"}]')""",
    "workqueue_pause(%(id)s, %(claim)s, 60)",
    """workqueue_pause(%(id)s, %(claim)s, 60, clones => '[{"stage": "b"}]')""",
    "workqueue_requeue(%(id)s, %(claim)s)",
    "workqueue_fail(%(id)s, %(claim)s, 'broken')",
    """workqueue_split(%(id)s, %(claim)s, '[["r@example.net"]]')""",
    "workqueue_rewrite(%(id)s, %(claim)s, 'h', 'b', 'f', 's')",
]


def call(queue: Queue, function: str, number: int, claim: int = TOKEN, **params: Any) -> bool:
    hit: bool = queue.database.value(f"SELECT pepsi.{function}", id=number, claim=claim, **params)
    return hit


def snapshot(queue: Queue) -> list[tuple[Any, ...]]:
    return queue.database.rows("SELECT to_jsonb(w), w.xmin::text FROM pepsi.workqueue w ORDER BY workqueue_id")


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("claim", [TOKEN + 1, TOKEN - 1, 0])
def test_an_outcome_under_another_claim_changes_nothing(queue: Queue, outcome: str, claim: int) -> None:
    number = queue.running()
    before, bodies = snapshot(queue), queue.bodies()
    assert not call(queue, outcome, number, claim)
    assert (snapshot(queue), queue.bodies()) == (before, bodies)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_outcome_for_a_row_that_does_not_run_changes_nothing(queue: Queue, outcome: str) -> None:
    number = queue.add()
    before, bodies = snapshot(queue), queue.bodies()
    assert not call(queue, outcome, number)
    assert not call(queue, outcome, number + 1)
    assert (snapshot(queue), queue.bodies()) == (before, bodies)


@pytest.mark.parametrize("outcome", OUTCOMES[:-2])
def test_no_outcome_leaves_a_claim_behind(queue: Queue, outcome: str) -> None:
    number = queue.running()
    assert call(queue, outcome, number)
    assert all(row["claim"] is None and row["status"] != "running" for row, _ in snapshot(queue))


def test_a_load_brings_the_message_and_its_claim(queue: Queue) -> None:
    message = b"Subject: s\r\n\r\nbody\0\xff"
    number = queue.running(
        message=message, peer="192.0.2.1", auth_login="login", state={"key": 1}, recipients=["a@b", "c@d"]
    )
    (
        (
            claim,
            stage,
            mail_from,
            recipients,
            header_from,
            subject,
            peer,
            login,
            state,
            size,
            received,
            age,
            head,
            body,
        ),
    ) = queue.database.rows("SELECT * FROM pepsi.workqueue_load(%(id)s, %(epoch)s)", id=number, epoch=EPOCH)
    assert (claim, stage, mail_from, recipients) == (TOKEN, "a", "s@example.org", ["a@b", "c@d"])
    assert (header_from, subject, peer, login, state, size) == (
        "f",
        "s",
        "192.0.2.1",
        "login",
        {"key": 1},
        len(message),
    )
    assert isinstance(received, datetime) and 0 <= age < 3600
    assert bytes(head) + bytes(body) == message


def test_a_load_brings_the_header_block_as_a_stage_rewrote_it(queue: Queue) -> None:
    number = queue.running()
    assert call(queue, "workqueue_rewrite(%(id)s, %(claim)s, 'X: y', NULL, NULL, NULL)", number)
    head = queue.database.value("SELECT header_block FROM pepsi.workqueue_load(%(id)s, %(e)s)", id=number, e=EPOCH)
    assert bytes(head) == b"X: y"


@pytest.mark.parametrize("epoch", [EPOCH - 1, EPOCH + 1])
def test_a_row_of_another_epoch_is_not_loaded(queue: Queue, epoch: int) -> None:
    number = queue.running()
    load = "SELECT FROM pepsi.workqueue_load(%(id)s, %(epoch)s)"
    assert not queue.database.rows(load, id=number, epoch=epoch)
    assert not queue.database.rows(load, id=queue.add(), epoch=EPOCH)


def test_an_advance_moves_the_row_and_leaves_strikes_behind(queue: Queue) -> None:
    number = queue.running(state={**dict.fromkeys(CLEARED_BY_ADVANCE, 2), "kept": {"deep": None}, "gone": 1})
    patch = json.dumps({"gone": None, "new": [None]})
    assert call(
        queue,
        "workqueue_advance(%(id)s, %(claim)s, 'b', 'other@example.org', '{x@y,z@y}', %(patch)s)",
        number,
        patch=patch,
    )
    row = queue.row(number)
    assert (row["status"], row["stage"], row["mail_from"]) == ("pending", "b", "other@example.org")
    assert row["recipients"] == ["x@y", "z@y"]
    assert row["state"] == {"kept": {"deep": None}, "new": [None]}
    assert queue.message(number) == b"Subject: s\r\n\r\nbody"


def test_a_rewritten_message_has_its_size_and_the_old_body_is_gone(queue: Queue) -> None:
    number = queue.running()
    assert call(
        queue,
        "workqueue_advance(%(id)s, %(claim)s, 'b', header_block => 'X: y', body => 'longer body', "
        "header_from => 'g', subject => '')",
        number,
    )
    row = queue.row(number)
    assert queue.message(number) == b"X: ylonger body"
    assert (row["size"], row["header_from"], row["subject"]) == (15, "g", "")
    assert queue.bodies() == 1


def test_a_new_body_keeps_the_header_block_as_it_arrived(queue: Queue) -> None:
    number = queue.running()
    assert call(queue, "workqueue_advance(%(id)s, %(claim)s, 'b', body => '')", number)
    assert queue.message(number) == b"Subject: s\r\n\r\n"
    assert queue.row(number)["header_block"] is None


def test_a_finish_takes_the_body_along(queue: Queue) -> None:
    assert call(queue, "workqueue_finish(%(id)s, %(claim)s)", queue.running())
    assert (queue.ids(), queue.bodies()) == ([], 0)


def test_clones_take_the_place_of_a_finished_row_and_share_its_body(queue: Queue) -> None:
    number = queue.running(
        peer="192.0.2.1", auth_login="login", recipients=["a@b", "c@d"], state={"strikes": 1, "kept": 1, "gone": 1}
    )
    call(queue, "workqueue_rewrite(%(id)s, %(claim)s, 'X: y', NULL, NULL, NULL)", number)
    received = queue.row(number)["received_at"]
    clones = [
        {"stage": "bounce", "recipients": ["a@b"], "state": {"gone": None, "last_error": "no"}},
        {"stage": "relay", "mail_from": "", "status": "failed"},
    ]
    assert call(queue, "workqueue_finish(%(id)s, %(claim)s, %(clones)s)", number, clones=json.dumps(clones))
    first, second = map(queue.row, queue.ids())
    assert (first["stage"], first["status"], first["recipients"]) == ("bounce", "pending", ["a@b"])
    assert first["state"] == {"kept": 1, "last_error": "no"}
    assert (second["stage"], second["status"], second["recipients"]) == ("relay", "failed", ["a@b", "c@d"])
    assert (first["mail_from"], second["mail_from"]) == ("s@example.org", "")
    for row in (first, second):
        assert (row["peer"], row["auth_login"], row["received_at"]) == ("192.0.2.1", "login", received)
        assert queue.message(row["workqueue_id"]) == b"X: ybody"
    assert queue.bodies() == 1


@pytest.mark.parametrize("clones", ['[{"recipients": ["a@b"]}]', '[{"stage": "b", "status": "running"}]', '{"a": 1}'])
def test_a_bad_clone_spoils_the_whole_outcome(queue: Queue, clones: str) -> None:
    number = queue.running()
    before = snapshot(queue)
    with pytest.raises(psycopg2.Error):
        call(queue, "workqueue_finish(%(id)s, %(claim)s, %(clones)s)", number, clones=clones)
    assert snapshot(queue) == before


def test_a_pause_is_due_by_the_clock_of_the_database(queue: Queue) -> None:
    number = queue.running(state={"strikes": 1})
    assert call(
        queue,
        """workqueue_pause(%(id)s, %(claim)s, 90, 'later', '{"key": 1}', recipients => '{x@y}')""",
        number,
    )
    row = queue.row(number)
    assert (row["status"], row["stage"], row["recipients"]) == ("paused", "a", ["x@y"])
    assert row["state"] == {"strikes": 1, "last_error": "later", "key": 1}
    left = "SELECT extract(epoch FROM timeout - now())::float FROM pepsi.workqueue WHERE workqueue_id = %(id)s"
    assert 0 < queue.database.value(left, id=number) <= 90


def test_a_pause_without_a_delay_parks(queue: Queue) -> None:
    number = queue.running()
    assert call(queue, "workqueue_pause(%(id)s, %(claim)s, NULL)", number)
    row = queue.row(number)
    assert (row["status"], row["timeout"], row["state"]) == ("paused", None, {})


def test_a_pause_leaves_the_clones_the_message_as_it_was(queue: Queue) -> None:
    number = queue.running()
    assert call(
        queue,
        """workqueue_pause(%(id)s, %(claim)s, 60, 'later', clones => '[{"stage": "bounce"}]', body => 'new')""",
        number,
    )
    clone = next(other for other in queue.ids() if other != number)
    assert queue.message(number) == b"Subject: s\r\n\r\nnew"
    assert queue.message(clone) == b"Subject: s\r\n\r\nbody"
    assert queue.row(clone)["state"] == {}


def test_a_requeue_stays_at_its_stage(queue: Queue) -> None:
    number = queue.running(state={"strikes": 1})
    assert call(queue, """workqueue_requeue(%(id)s, %(claim)s, '{"a": 1}')""", number)
    row = queue.row(number)
    assert (row["status"], row["stage"], row["state"]) == ("pending", "a", {"strikes": 1, "a": 1})


def test_a_failure_says_why_and_where(queue: Queue) -> None:
    number = queue.running()
    assert call(queue, "workqueue_fail(%(id)s, %(claim)s, %(reason)s)", number, reason="no" * 1000)
    row = queue.row(number)
    assert row["status"] == "failed"
    assert row["state"] == {"last_error": ("no" * 512), "failed_stage": "a", "failure_class": "permanent"}


def test_a_resume_wakes_the_dispatcher_and_has_it_forget_its_floors(queue: Queue) -> None:
    number = queue.add()
    queue.database.rows("UPDATE pepsi.workqueue SET status = 'paused'")
    listener = queue.database.connect()
    sync.run(listener, Statement("LISTEN workqueue"))
    sync.run(listener, Statement("LISTEN workqueue_repair"))
    queue.database.value("SELECT pepsi.workqueue_resume(%(id)s)", id=number)
    sync.run(listener, Statement("SELECT 1"))
    assert [(notify.channel, notify.payload) for notify in listener.notifies] == [
        ("workqueue_repair", ""),
        ("workqueue", ""),
    ]


def test_a_resume_releases_only_what_is_paused(queue: Queue) -> None:
    number = queue.running()
    assert not queue.database.value("SELECT pepsi.workqueue_resume(%(id)s)", id=number)
    call(queue, "workqueue_pause(%(id)s, %(claim)s, 60)", number)
    assert queue.database.value("SELECT pepsi.workqueue_resume(%(id)s)", id=number)
    row = queue.row(number)
    assert (row["status"], row["timeout"]) == ("pending", None)


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("UPDATE pepsi.workqueue SET status = 'running'", "workqueue_claimed_while_running"),
        ("UPDATE pepsi.workqueue SET claim = 1", "workqueue_claimed_while_running"),
        ("UPDATE pepsi.workqueue SET timeout = now()", "workqueue_due_while_paused"),
        ("UPDATE pepsi.workqueue SET status = 'paused', timeout = '-infinity'", "workqueue_finite_timeout"),
        ("UPDATE pepsi.workqueue SET status = 'paused', timeout = 'infinity'", "workqueue_finite_timeout"),
        ("UPDATE pepsi.workqueue SET received_at = '-infinity'", "workqueue_received_at"),
        ("UPDATE pepsi.workqueue SET received_at = 'infinity'", "workqueue_received_at"),
        ("UPDATE pepsi.workqueue SET received_at = '0044-03-15 BC'", "workqueue_received_at"),
        ("UPDATE pepsi.workqueue SET received_at = '10000-01-01'", "workqueue_received_at"),
        ("UPDATE pepsi.workqueue SET status = 'done'", "workqueue_status"),
        ("UPDATE pepsi.workqueue SET stage = ''", "workqueue_stage"),
        ("UPDATE pepsi.workqueue SET recipients = '{}', mail_from = ''", "sender_key"),
        ("UPDATE pepsi.workqueue SET recipients = '{}'", "workqueue_recipients"),
        ("UPDATE pepsi.workqueue SET recipients = '{a@b,NULL}'", "workqueue_recipients"),
        ("UPDATE pepsi.workqueue SET recipients = '[2:2]={a@b}'", "workqueue_recipients"),
        ("UPDATE pepsi.workqueue SET state = '[]'", "workqueue_state"),
        ("UPDATE pepsi.workqueue SET size = -1", "workqueue_size"),
    ],
)
def test_a_row_in_an_impossible_state_is_refused(queue: Queue, change: str, constraint: str) -> None:
    queue.add()
    with pytest.raises(psycopg2.IntegrityError, match=constraint):
        queue.database.rows(change)


def test_every_function_has_its_search_path_fixed(queue: Queue) -> None:
    loose = queue.database.rows(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'pepsi'::regnamespace AND (prosecdef OR prosqlbody IS NULL "
        "AND NOT 'search_path=pg_catalog, pepsi' = ANY (coalesce(proconfig, '{}')))"
    )
    assert loose == []


def test_a_plan_made_while_the_queue_was_empty_still_reads_single_rows_when_it_is_full(queue: Queue) -> None:
    calls = [*OUTCOMES, "workqueue_load(%(id)s, 7)", "workqueue_resume(%(id)s)"]
    queue.database.connect()
    session = queue.database.connect()

    def work(number: int, call: str) -> None:
        sync.run(session, Statement(f"SELECT pepsi.{call}", {"id": number, "claim": TOKEN}))

    for call in calls:
        work(queue.running(), call)
    queue.database.rows("DELETE FROM pepsi.workqueue")
    number = queue.add()
    queue.database.rows(
        "INSERT INTO pepsi.workqueue (body_id, size, stage, mail_from, recipients) "
        "SELECT body_id, size, stage, mail_from, recipients FROM pepsi.workqueue, generate_series(1, 3000) "
        "WHERE workqueue_id = %(number)s",
        number=number,
    )
    sync.run(session, Statement("BEGIN"))
    for call in calls:
        work(queue.running(), call)
    read = "SELECT relname, seq_tup_read FROM pg_stat_xact_user_tables WHERE seq_tup_read > 0"
    assert sync.run(session, Statement(read)) == []
    sync.run(session, Statement("COMMIT"))


def test_what_runs_under_a_former_epoch_is_begun_by_nobody(queue: Queue) -> None:
    number = queue.running()
    asked = "SELECT count(*) FROM pepsi.workqueue_load(%(id)s, %(epoch)s)"
    for present, loaded in ((EPOCH, 1), (EPOCH + 1, 0)):
        queue.database.rows("UPDATE pepsi.dispatcher_epoch SET epoch = %(present)s", present=present)
        assert queue.database.value(asked, id=number, epoch=EPOCH) == loaded
