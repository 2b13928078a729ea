"""Results: each recipient ends in exactly one place, whatever became of the others."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pepsi.config.options import StageOptions
from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Changes, Clone, Fail, Finish
from pepsi.model.row import FailureClass, RowStatus
from pepsi.relay.answers import Answer, Verdict
from pepsi.stages.api import TryLater
from pepsi.stages.results import conclude, spread, time_for_message

OK = Answer(verdict=Verdict.DELIVERED, status="2.0.0", reply="250 ok", host="mx")
LATER = Answer(verdict=Verdict.RETRY, status="4.2.0", reply="450 later", host="mx")
NO = Answer(verdict=Verdict.REFUSED, status="5.1.1", reply="550 who?", host="mx", detail="/secret/place")


def options(**keywords: Any) -> StageOptions:
    return StageOptions(**{"program": "x", "next_stage": None, "bounce_stage": None} | keywords)


def message(*recipients: str, **keywords: Any) -> Message:
    settings: dict[str, Any] = {
        "workqueue_id": 1,
        "claim": 1,
        "stage": "out",
        "received_at": datetime(2026, 1, 1, tzinfo=UTC),
        "age": 0.0,
        "mail_from": "a@x",
        "recipients": recipients,
        "state": {"deliveries": {"old@x": {}}},
    }
    return Message(**settings | keywords)


def test_a_message_that_all_got_is_finished():
    assert conclude(message("b@x", "c@x"), options(), {"b@x": OK, "c@x": OK}) == Finish()


def test_a_message_that_all_got_goes_on_where_there_is_a_next_stage():
    outcome = conclude(message("b@x"), options(next_stage="archive"), {"b@x": OK})
    assert outcome == Advance(stage="archive", changes=Changes(state={"deliveries": None}))


def test_a_message_that_all_were_refused_goes_to_the_bounce_stage_with_what_the_host_said():
    outcome = conclude(message("b@x"), options(bounce_stage="bounce"), {"b@x": NO})
    assert isinstance(outcome, Advance)
    assert outcome.stage == "bounce"
    assert outcome.changes.recipients == ("b@x",)
    assert outcome.changes.state["deliveries"] == {"b@x": {"status": "5.1.1", "reply": "550 who?", "host": "mx"}}
    assert outcome.changes.state["failed_stage"] == "out"
    assert outcome.changes.state["failure_class"] == "permanent"
    assert outcome.changes.state["last_error"] == "b@x: /secret/place: mx said: 550 who?"


def test_without_a_bounce_stage_a_refused_message_is_kept_as_failed():
    outcome = conclude(message("b@x"), options(), {"b@x": NO})
    assert isinstance(outcome, Fail)
    assert outcome.failure_class is FailureClass.PERMANENT


def test_what_waits_stays_while_the_rest_goes_its_ways():
    answers = {"b@x": OK, "c@x": LATER, "d@x": NO}
    try:
        conclude(message("b@x", "c@x", "d@x"), options(next_stage="archive", bounce_stage="bounce"), answers)
    except TryLater as error:
        assert str(error) == "c@x: mx said: 450 later"
        assert error.changes.recipients == ("c@x",)
        assert error.changes.state["deliveries"].keys() == {"c@x"}
        assert [(clone.stage, clone.recipients, clone.status) for clone in error.clones] == [
            ("archive", ("b@x",), RowStatus.PENDING),
            ("bounce", ("d@x",), RowStatus.PENDING),
        ]
    else:
        raise AssertionError("nobody waits")


def test_a_refused_recipient_is_filed_as_failed_where_nobody_bounces():
    try:
        conclude(message("b@x", "c@x"), options(), {"b@x": LATER, "c@x": NO})
    except TryLater as error:
        [clone] = error.clones
        assert (clone.stage, clone.status, clone.recipients) == ("out", RowStatus.FAILED, ("c@x",))
        assert clone.state["failed_stage"] == "out"
        assert clone.state["failure_class"] == "permanent"
        assert "550 who?" in clone.state["last_error"]
    else:
        raise AssertionError("nobody waits")


VERDICTS = st.dictionaries(
    st.integers(0, 30).map(lambda number: f"r{number}@x"), st.sampled_from([OK, LATER, NO]), min_size=1
)


@given(
    answers=VERDICTS,
    next_stage=st.sampled_from([None, "archive"]),
    bounce_stage=st.sampled_from([None, "bounce"]),
    list_copy=st.booleans(),
)
def test_each_recipient_ends_in_exactly_one_place(
    answers: dict[str, Answer], next_stage: str | None, bounce_stage: str | None, list_copy: bool
):
    taken = message(*answers, state={"list_copy": list_copy})
    places: Counter[tuple[str, str]] = Counter()

    def put(recipients: tuple[str, ...], place: str) -> None:
        places.update((recipient, place) for recipient in recipients)

    def put_clones(clones: tuple[Clone, ...]) -> None:
        for clone in clones:
            put(clone.recipients, "failed" if clone.status is RowStatus.FAILED else clone.stage)

    try:
        outcome = conclude(taken, options(next_stage=next_stage, bounce_stage=bounce_stage), answers)
    except TryLater as error:
        put(taken.recipients if error.changes.recipients is None else error.changes.recipients, "row")
        put_clones(error.clones)
    else:
        match outcome:
            case Finish(clones=clones):
                put_clones(clones)
            case Advance(stage=stage, changes=changes):
                put(taken.recipients if changes.recipients is None else changes.recipients, stage)
            case Fail(changes=changes):
                put(taken.recipients if changes.recipients is None else changes.recipients, "failed")
            case _:
                raise AssertionError(outcome)
    refused_place = "bounce" if bounce_stage and not list_copy else "failed"
    expected: Counter[tuple[str, str]] = Counter()
    for recipient, answer in answers.items():
        match answer.verdict:
            case Verdict.DELIVERED if next_stage:
                expected[recipient, next_stage] = 1
            case Verdict.RETRY:
                expected[recipient, "row"] = 1
            case Verdict.REFUSED:
                expected[recipient, refused_place] = 1
    assert places == expected


def test_what_a_row_keeps_of_the_answers_is_bounded_and_holds_nothing_of_this_side():
    wordy = Answer(verdict=Verdict.REFUSED, status="5.0.0", reply="550 " + "x" * 508, host="mx", detail="/secret")
    recipients = tuple(f"r{number}@x" for number in range(1000))
    outcome = conclude(message(*recipients), options(bounce_stage="b"), dict.fromkeys(recipients, wordy))
    assert isinstance(outcome, Advance)
    assert outcome.changes.recipients == recipients
    kept = json.dumps(outcome.changes.state["deliveries"])
    assert len(kept) < 40_000
    assert "/secret" not in kept
    assert len(outcome.changes.state["last_error"].encode()) <= 1024


def test_one_mailbox_named_twice_shares_its_answer():
    assert spread({"b@x": OK}, ("b@X", "b@x")) == {"b@X": OK, "b@x": OK}


def test_a_stage_ends_before_its_worker_would_be_killed():
    assert time_for_message(options(max_runtime=100.0)) == 90.0
    assert time_for_message(options()) < 300.0
