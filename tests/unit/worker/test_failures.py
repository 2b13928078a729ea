"""The table of failures: whose fault an error is, and what becomes of the message."""

from dataclasses import replace
from typing import Any

import pytest

from pepsi.config.options import StageOptions
from pepsi.db.faults import Fault
from pepsi.model.outcome import Advance, Changes, Clone, Fail, Finish, Pause, Requeue
from pepsi.model.row import FailureClass, RowStatus
from pepsi.model.status import Status
from pepsi.stages.api import Refuse, TryLater
from pepsi.testing import message
from pepsi.worker.failures import Blame, Decision, blame, code_of, decide, returned

OPTIONS = StageOptions(program="x", max_lifetime=1000.0)
BOUNCING = replace(OPTIONS, bounce_stage="bounce")
CLONE = Clone(stage="bounce", recipients=("dora@example.org",))


def decided(error: Exception, options: StageOptions = OPTIONS, **given: Any) -> Decision:
    return decide(error, message(**given), options, chance=lambda: 0.5)


@pytest.mark.parametrize(
    ("error", "whose"),
    [
        (Refuse("x"), Blame.MESSAGE),
        (TryLater("x"), Blame.NOBODY),
        (MemoryError(), Blame.PROCESS),
        (SystemError("x"), Blame.PROCESS),
        (RecursionError(), Blame.HOST),
        (OSError("x"), Blame.HOST),
        (KeyError("x"), Blame.HOST),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "x"), Blame.HOST),
    ],
)
def test_whatever_a_stage_raises_is_the_hosts_fault_unless_the_stage_says_otherwise(
    error: Exception, whose: Blame
) -> None:
    assert blame(error) is whose


def test_a_refusal_fails_whatever_the_age() -> None:
    expected = Decision(Fail(reason="bad"), Status(code=65, reason="bad"), "bad")
    assert decided(Refuse("bad"), BOUNCING) == expected
    assert decided(Refuse("bad"), BOUNCING, age=2000.0) == expected


def test_a_host_fault_waits_a_minute_and_a_tenth_of_one_by_chance_and_is_counted() -> None:
    assert decided(OSError("no disk")) == Decision(
        Pause(delay=66.0, reason="OSError: no disk", changes=Changes(state={"temporary_failures": 1})),
        Status(code=0),
        "OSError: no disk",
    )


def test_a_stage_that_knows_how_long_it_takes_is_believed() -> None:
    outcome = decided(TryLater("busy", after=7.0)).outcome
    assert isinstance(outcome, Pause)
    assert (outcome.delay, outcome.reason) == (7.0, "busy")


def test_what_was_done_for_other_recipients_is_kept_with_the_wait() -> None:
    error = TryLater("busy", changes=Changes(recipients=("x",), state={"a": 1}), clones=(CLONE,))
    outcome = decided(error, state={"temporary_failures": 3}).outcome
    assert isinstance(outcome, Pause)
    assert outcome.changes == Changes(recipients=("x",), state={"a": 1, "temporary_failures": 4})
    assert outcome.clones == (CLONE,)


MARKS = {"last_error": "busy", "failed_stage": "stage", "failure_class": "retries-exhausted"}


def test_past_its_lifetime_a_message_goes_to_the_bounce_stage_with_the_three_marks() -> None:
    decision = decided(TryLater("busy"), BOUNCING, age=1000.1)
    assert decision == Decision(Advance(stage="bounce", changes=Changes(state=MARKS)), Status(code=0), "busy")


def test_past_its_lifetime_without_a_bounce_stage_it_fails() -> None:
    decision = decided(TryLater("busy"), age=1000.1)
    assert decision.outcome == Fail(reason="busy", failure_class=FailureClass.RETRIES_EXHAUSTED)
    assert decision.status == Status(code=69, reason="busy")


def test_a_copy_of_a_mailing_list_does_not_bounce() -> None:
    decision = decided(TryLater("busy"), BOUNCING, age=1000.1, state={"list_copy": True})
    assert isinstance(decision.outcome, Fail)
    assert decision.status.code == 69


@pytest.mark.parametrize(
    ("options", "stage", "status", "code"),
    [(BOUNCING, "bounce", RowStatus.PENDING, 0), (OPTIONS, "stage", RowStatus.FAILED, 69)],
)
def test_what_was_done_for_other_recipients_is_kept_when_the_rest_is_given_up(
    options: StageOptions, stage: str, status: RowStatus, code: int
) -> None:
    error = TryLater("busy", changes=Changes(recipients=("x",), state={"a": 1}), clones=(CLONE,))
    decision = decided(error, options, age=1000.1)
    rest = Clone(stage=stage, recipients=("x",), status=status, state={"a": 1, **MARKS})
    assert decision.outcome == Finish(clones=(CLONE, rest))
    assert decision.status.code == code


def test_an_age_of_just_the_lifetime_is_not_past_it() -> None:
    assert isinstance(decided(TryLater("busy"), age=1000.0).outcome, Pause)


@pytest.mark.parametrize("built", ["yesterday", 5, None, "2026-01-01T00:00:00", "0001-01-01T00:00:00+00:00", [], True])
def test_a_time_of_building_that_says_nothing_is_passed_over(built: object) -> None:
    assert isinstance(decided(TryLater("busy"), age=1000.1, state={"notice_built_at": built}).outcome, Fail)


@pytest.mark.parametrize(("fault", "code"), [(Fault.LIMIT, 75), *((f, 74) for f in Fault if f is not Fault.LIMIT)])
def test_a_database_that_does_not_do_its_part_is_74_and_75_when_it_is_full(fault: Fault, code: int) -> None:
    assert code_of(fault) == code


def test_only_a_failure_is_answered_with_a_failure() -> None:
    assert returned(Fail(reason="bad")).status == Status(code=65, reason="bad")
    for outcome in (Advance(stage="x"), Finish(), Pause(delay=1)):
        assert returned(outcome).status == Status(code=0)


@pytest.mark.parametrize("changes", [Changes(body=b"x"), Changes(header_block=b"x: y\r\n\r\n")])
def test_a_rewrite_that_cannot_be_written_is_a_bug_of_the_stage_and_kept_as_failed_at_once(changes: Changes) -> None:
    decision = returned(Requeue(changes=changes))
    bug = "a bug of the stage: Requeue cannot change header_block or body, only Advance and Pause can"
    assert decision == Decision(Fail(reason=bug), Status(code=65, reason=bug))
    failed = returned(Fail(reason="spam", changes=changes)).outcome
    assert failed == Fail(
        reason="spam; a bug of the stage: Fail cannot change header_block or body, only Advance and Pause can"
    )


def test_a_requeue_that_changes_the_envelope_is_as_good_as_any() -> None:
    requeue = Requeue(changes=Changes(state={"seen": 1}))
    assert returned(requeue).outcome is requeue
