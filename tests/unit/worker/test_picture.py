"""What ``try`` shows of an outcome."""

from pepsi.model.outcome import Advance, Changes, Clone, Fail, Finish, Outcome, Pause, Requeue
from pepsi.model.row import RowStatus
from pepsi.testing import changed, message
from pepsi.worker.picture import picture


def lines(outcome: Outcome, **given: object) -> list[str]:
    return list(picture(message(**given), outcome))  # type: ignore[arg-type]


def test_an_advance_shows_what_changes_and_nothing_else() -> None:
    changes = Changes(mail_from="", recipients=("x@y", "z@y"), state={"new": [1], "old": None})
    assert lines(Advance(stage="next", changes=changes), state={"old": 1, "strikes": 2, "kept": None}) == [
        "goes on to next",
        "--- before",
        "+++ after",
        "@@ -1,7 +1,7 @@",
        "-stage: stage",
        "-mail_from: anna@example.org",
        "-recipient: bob@example.net",
        "+stage: next",
        "+mail_from: ",
        "+recipient: x@y",
        "+recipient: z@y",
        " state.kept: null",
        "-state.old: 1",
        "-state.strikes: 2",
        "+state.new: [1]",
        " header block:",
    ]


def test_a_rewritten_message_shows_the_lines_that_differ() -> None:
    shown = lines(Advance(stage="stage", changes=Changes(body=b"body\r\nmore\r\n")))
    assert shown[-2:] == [" body", "+more"]


def test_what_came_by_mail_does_not_drive_the_terminal() -> None:
    shown = lines(Fail(reason="a\x1b[2Jb"), mail_from="\x1b]0;x\x07", body=b"\x9b1m")
    assert shown[0] == "is kept as failed: a\\x1b[2Jb"
    assert all(line.isprintable() for line in shown)


def test_each_clone_is_shown_by_what_it_differs_in() -> None:
    clones = (
        Clone(stage="bounce", recipients=("bob@example.net",), mail_from=""),
        Clone(stage="stage", recipients=("bob@example.net",), status=RowStatus.FAILED),
    )
    assert lines(Finish(clones=clones)) == [
        "is finished",
        "and a copy goes on at bounce",
        "--- before",
        "+++ after",
        "@@ -1,3 +1,3 @@",
        "-stage: stage",
        "-mail_from: anna@example.org",
        "+stage: bounce",
        "+mail_from: ",
        " recipient: bob@example.net",
        "and a copy is kept as failed at stage",
    ]


def test_other_outcomes_are_told_in_words() -> None:
    assert lines(Finish()) == ["is finished"]
    assert lines(Requeue()) == ["is tried again at once"]
    assert lines(Pause(delay=90)) == ["waits for 90 s"]
    assert lines(Pause(delay=None)) == ["waits until somebody releases it"]


def test_a_failure_leaves_its_marks_in_the_state() -> None:
    after = changed(message(), Fail(reason="bad"))
    assert after.state == {"last_error": "bad", "failed_stage": "stage", "failure_class": "permanent"}
