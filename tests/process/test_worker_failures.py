"""What becomes of a message when its stage fails, from the error to the row."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.process.conftest import Configure
from tests.support_database import Database
from tests.support_worker import EPOCH, Worker, claim_again, program, put, row, running

ODD = "tests.process.odd_stage"


def one(
    database: Database, config: str, subject: str, *, hours: float = 0, **given: Any
) -> tuple[dict[str, Any], str, str]:
    """Have a worker run one message; return its row, the answer, and what was said on standard error."""
    with running(program(ODD, "-c", config, "worker"), PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        (number,) = put(database, subject, **given)
        database.rows("UPDATE pepsi.workqueue SET received_at = now() - make_interval(hours => %(h)s)", h=hours)
        worker.hand(number)
        assert worker.line() == "ready"
        answer = worker.line()
        return {**row(database, number), "due": due(database, number)}, answer, closed(worker)


def closed(worker: Worker) -> str:
    worker.close_input()
    assert worker.end() == 0
    return worker.stderr


def due(database: Database, number: int) -> float | None:
    seconds: float | None = database.value(
        "SELECT extract(epoch FROM timeout - now())::float8 FROM pepsi.workqueue WHERE workqueue_id = %(id)s", id=number
    )
    return seconds


def test_a_refused_message_is_kept_as_failed_with_a_reason_that_can_be_stored(
    configure: Configure, database: Database
) -> None:
    after, answer, said = one(database, configure("BOUNCE_STAGE = bounce"), "refuse")
    assert answer == "65 not like \ufffd this"
    assert (after["status"], after["stage"], after["claim"]) == ("failed", "work", None)
    assert after["state"] == {
        "last_error": "not like \ufffd this",
        "failed_stage": "work",
        "failure_class": "permanent",
    }
    assert "Traceback" not in said


def test_a_bug_of_the_stage_is_the_hosts_fault_so_the_message_is_tried_again(
    configure: Configure, database: Database
) -> None:
    after, answer, said = one(database, configure(), "bug")
    assert answer == "0"
    assert (after["status"], after["stage"]) == ("paused", "work")
    assert 50 < after["due"] <= 72
    assert after["state"]["temporary_failures"] == 1
    assert after["state"]["last_error"].startswith("KeyError: 'a \\x00 bug")
    assert "Traceback" in said
    assert "KeyError" in said
    assert f"warning: message {after['workqueue_id']}: to be tried again in" in said


def test_a_stage_that_knew_that_it_must_wait_leaves_no_traceback(configure: Configure, database: Database) -> None:
    after, answer, said = one(database, configure(), "later")
    assert (answer, after["status"]) == ("0", "paused")
    assert after["state"] == {"temporary_failures": 1, "last_error": "not now"}
    assert "Traceback" not in said
    assert "not now" in said


@pytest.mark.parametrize(
    ("before", "low", "high", "count"),
    [(1, 120, 144, 2), (3, 480, 576, 4), (40, 3600, 4320, 41), ("x", 60, 72, 1), (-5, 60, 72, 1), (None, 60, 72, 1)],
)
def test_each_failure_in_a_row_doubles_the_wait_up_to_an_hour(
    configure: Configure, database: Database, before: object, low: float, high: float, count: int
) -> None:
    after, _, _ = one(database, configure(), "later", state={"temporary_failures": before})
    assert low - 10 < after["due"] <= high
    assert after["state"]["temporary_failures"] == count


def test_what_a_stage_returns_that_is_no_outcome_is_the_hosts_fault(configure: Configure, database: Database) -> None:
    after, answer, _ = one(database, configure(), "nothing")
    assert (answer, after["status"]) == ("0", "paused")
    assert "NoneType, which is no outcome" in after["state"]["last_error"]


def test_an_outcome_that_the_database_refuses_is_the_hosts_fault(configure: Configure, database: Database) -> None:
    database.rows(
        "CREATE FUNCTION pepsi.no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.stage = 'next' THEN RAISE EXCEPTION 'not so'; END IF; RETURN NEW; END $$"
    )
    database.rows("CREATE TRIGGER no BEFORE UPDATE ON pepsi.workqueue FOR EACH ROW EXECUTE FUNCTION pepsi.no()")
    after, answer, _ = one(database, configure(), "advance")
    assert (answer, after["status"], after["stage"]) == ("0", "paused", "work")
    assert "the database refused what the stage decided: not so" in after["state"]["last_error"]


def test_a_database_that_refuses_even_the_failure_is_answered_as_a_lost_one(
    configure: Configure, database: Database
) -> None:
    (number,) = put(database, "advance")
    database.rows(
        "CREATE FUNCTION pepsi.no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'never'; END $$"
    )
    database.rows("CREATE TRIGGER no BEFORE UPDATE ON pepsi.workqueue FOR EACH ROW EXECUTE FUNCTION pepsi.no()")
    with running(program(ODD, "-c", configure(), "worker"), PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        worker.hand(number)
        assert worker.line() == "ready"
        assert worker.line().startswith("74 never")


def test_changes_that_cannot_be_stored_do_not_keep_a_message_from_being_tried_again(
    configure: Configure, database: Database
) -> None:
    after, answer, _ = one(database, configure(), "unfit")
    assert (answer, after["status"]) == ("0", "paused")
    assert "expected at least one recipient" in after["state"]["last_error"]
    assert after["recipients"] == ["bob@example.net"]


def test_a_message_tried_for_its_whole_lifetime_goes_to_the_bounce_stage(
    configure: Configure, database: Database
) -> None:
    config = configure("BOUNCE_STAGE = bounce", "MAX_LIFETIME = 2 h")
    after, answer, said = one(database, config, "later", hours=3, state={"temporary_failures": 9, "kept": 1})
    assert answer == "0"
    assert (after["status"], after["stage"]) == ("pending", "bounce")
    assert after["state"] == {
        "kept": 1,
        "last_error": "not now",
        "failed_stage": "work",
        "failure_class": "retries-exhausted",
    }
    assert "tried for too long and given up: not now" in said


@pytest.mark.parametrize(("keys", "state"), [((), {}), (("BOUNCE_STAGE = bounce",), {"list_copy": True})])
def test_without_a_bounce_stage_or_for_a_copy_of_a_list_it_is_kept_as_failed(
    configure: Configure, database: Database, keys: tuple[str, ...], state: dict[str, Any]
) -> None:
    after, answer, _ = one(database, configure("MAX_LIFETIME = 2 h", *keys), "later", hours=3, state=state)
    assert answer == "69 not now"
    assert (after["status"], after["stage"]) == ("failed", "work")
    assert after["state"]["failure_class"] == "retries-exhausted"
    assert after["state"]["failed_stage"] == "work"


def test_a_message_younger_than_its_lifetime_is_tried_again(configure: Configure, database: Database) -> None:
    after, _, _ = one(database, configure("MAX_LIFETIME = 4 h"), "later", hours=3)
    assert after["status"] == "paused"


@pytest.mark.parametrize(("built_hours_ago", "status"), [(1, "paused"), (2.5, "failed")])
def test_the_lifetime_of_a_notice_counts_from_when_it_was_built(
    configure: Configure, database: Database, built_hours_ago: float, status: str
) -> None:
    built = (datetime.now(UTC) - timedelta(hours=built_hours_ago)).isoformat()
    config = configure("MAX_LIFETIME = 2 h")
    after, _, _ = one(database, config, "later", hours=3, state={"notice_built_at": built})
    assert after["status"] == status


def test_one_failed_message_is_no_hindrance_to_the_next(configure: Configure, database: Database) -> None:
    with running(program(ODD, "-c", configure(), "worker"), PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        ids = put(database, "bug", "advance", "bug", "refuse", "advance")
        worker.hand(*ids)
        answers = worker.lines(6)[1:]
        assert [answer.split()[0] for answer in answers] == ["0", "0", "0", "65", "0"]
        claim_again(database, ids[0])
        worker.hand(ids[0])
        assert worker.line() == "0"
        assert row(database, ids[0])["state"]["temporary_failures"] == 2
