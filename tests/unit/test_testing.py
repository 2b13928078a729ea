"""The kit for the tests of stages, on the stages that are shipped."""

import pytest

from pepsi.errors import ConfigError, StageError
from pepsi.model.message import Need
from pepsi.model.outcome import Advance, Changes, Outcome
from pepsi.stages.api import Message, Options, Refuse, Requeue, Stage, TryLater
from pepsi.stages.discard import Discard
from pepsi.stages.if_ import If
from pepsi.testing import (
    assert_advances,
    assert_fails,
    assert_finishes,
    assert_pauses,
    assert_requeues,
    changed,
    message,
    run,
)


def test_discard_finishes_without_a_word() -> None:
    assert assert_finishes(run(Discard, message())).clones == ()


@pytest.mark.parametrize(("subject", "way"), [("large", "aside"), ("small", "on")])
def test_if_sends_a_message_one_way_or_the_other_and_changes_nothing(subject: str, way: str) -> None:
    outcome = run(
        If, message(f"Subject: {subject}"), CONDITION='subject == "large"', THEN_STAGE="aside", NEXT_STAGE="on"
    )
    assert_advances(outcome, to=way, changes=Changes())


def test_keys_that_are_wrong_are_an_error() -> None:
    with pytest.raises(ConfigError, match="CONDITION = size >: expected a condition"):
        run(If, message(), CONDITION="size >", NEXT_STAGE="on")
    with pytest.raises(ConfigError, match="no such key"):
        run(Discard, message(), NO_SUCH_KEY="x")


class Scripted(Stage[Options]):
    """Does what the Subject says."""

    name = "scripted"
    needs = Need.HEADERS
    closed = 0

    def close(self) -> None:
        Scripted.closed += 1

    def process(self, message: Message, options: Options) -> Outcome:
        assert message.header_block is not None
        assert message.body is None
        match message.subject:
            case "refuse":
                raise Refuse("bad")
            case "later":
                raise TryLater("busy")
            case "bug":
                raise KeyError("bug")
            case "unfit":
                return Advance(stage="next", changes=Changes(recipients=()))
            case _:
                return Requeue()


def test_a_stage_sees_no_more_of_a_message_than_it_asked_for() -> None:
    assert_requeues(run(Scripted, message()))


def test_refuse_and_try_later_are_what_the_worker_makes_of_them() -> None:
    assert_fails(run(Scripted, message("Subject: refuse")), because="bad")
    assert_pauses(run(Scripted, message("Subject: later")), for_seconds=60.0, because="busy")
    aged = run(Scripted, message("Subject: later", age=90.0), MAX_LIFETIME="1 min", BOUNCE_STAGE="bounce")
    assert_advances(aged, to="bounce")


def test_a_bug_is_raised_and_the_stage_is_closed_all_the_same() -> None:
    before = Scripted.closed
    with pytest.raises(KeyError):
        run(Scripted, message("Subject: bug"))
    assert Scripted.closed == before + 1


def test_an_outcome_that_could_not_be_written_is_an_error() -> None:
    with pytest.raises(StageError, match="at least one recipient"):
        run(Scripted, message("Subject: unfit"))


@pytest.mark.parametrize(
    ("check", "part"),
    [
        (lambda outcome: assert_advances(outcome, to="x"), "goes on to 'y'"),
        (lambda outcome: assert_advances(outcome, to="y", changes=Changes(mail_from="")), "expected Changes"),
        (assert_finishes, "expected Finish, got Advance"),
        (assert_pauses, "expected Pause"),
        (assert_fails, "expected Fail"),
        (assert_requeues, "expected Requeue"),
    ],
)
def test_what_was_not_expected_is_told(check: object, part: str) -> None:
    assert callable(check)
    with pytest.raises(AssertionError, match=part):
        check(Advance(stage="y"))


def test_lines_of_a_message_end_as_in_mail() -> None:
    made = message("From: a", "Subject: b", body="one\ntwo\r\n")
    assert made.header_block == b"From: a\r\nSubject: b\r\n\r\n"
    assert made.body == b"one\r\ntwo\r\n"
    assert made.size == len(made.header_block + made.body)
    assert (made.header_from, made.subject) == ("a", "b")


def test_what_an_outcome_makes_of_a_message_can_be_looked_at() -> None:
    after = changed(message(state={"a": 1}), Advance(stage="x", changes=Changes(state={"a": None, "b": 2})))
    assert (after.stage, after.state) == ("x", {"b": 2})
