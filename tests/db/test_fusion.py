"""When a stage is run in the pass of the one before it, and what becomes of a message on which it fails there."""

from collections.abc import Mapping
from typing import Any

import pytest

from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Changes, Clone, Fail, Finish, Outcome, Pause
from pepsi.model.status import Fused, Status
from pepsi.stages.api import Refuse, TryLater
from pepsi.worker.fusion import DEPTH
from tests.db.fused import SECRET, Script, WithBody, configured, plant
from tests.support_database import Database
from tests.support_worker import TOKEN, claim_again, put, row


def chain(*names: str, last: str = "end", **keys: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return sections of which each leads to the next."""
    following = [*names[1:], last]
    return {name: {"NEXT_STAGE": after, **keys.get(name, {})} for name, after in zip(names, following, strict=True)} | {
        "end": {"PROGRAM": "python none.py"}
    }


@pytest.fixture(autouse=True)
def deeds() -> dict[str, Any]:
    """What scripts do, by their DEED; all others advance."""
    Script.deeds.clear()
    Script.opened.clear()
    Script.closed = 0
    return Script.deeds


def reported(status: Status) -> list[str]:
    return [part.stage for part in status.report]


def where(database: Database, number: int) -> str:
    found = row(database, number)
    return f"{found['status']} {found['stage']}"


def pass_from(
    database: Database, sections: Mapping[str, Mapping[str, str]], *, kind: type[Script] = Script, **given: Any
) -> tuple[int, Status]:
    """Put a message in at the first section, and have it worked on there; return its id and the answer."""
    first = next(iter(sections))
    (number,) = put(database, "hello", stage=first, **given)
    with plant(database, configured(sections), kind) as made:
        (answer,) = made.worker(first).handle([number])
    return number, answer


# One load, one write, one line


def test_a_chain_is_one_load_one_write_and_one_answer_with_the_time_of_each_stage(database: Database) -> None:
    ids = put(database, *["hello"] * 5, stage="a")
    with plant(database, configured(chain("a", "b", "c", "d"))) as made:
        answers = made.worker("a").handle(ids)
        assert made.links["a"].asked == 2
    assert answers == [Status(code=0, report=(Fused("b", 1000), Fused("c", 1000), Fused("d", 1000)))] * 5
    assert [where(database, number) for number in ids] == ["pending end"] * 5


def test_all_that_a_chain_changed_is_written(database: Database, deeds: dict[str, Any]) -> None:
    deeds["b"] = lambda message: Advance(stage="c", changes=Changes(mail_from="", state={"x": 1, "y": 1}))
    deeds["c"] = lambda message: Advance(stage="end", changes=Changes(recipients=("z@z",), state={"x": None}))
    number, answer = pass_from(database, chain("a", "b", "c", b={"DEED": "b"}, c={"DEED": "c"}))
    found = row(database, number)
    assert reported(answer) == ["b", "c"]
    assert (found["mail_from"], found["recipients"], found["state"]) == ("", ["z@z"], {"y": 1})


def test_a_stage_in_a_chain_sees_what_it_would_have_loaded(database: Database, deeds: dict[str, Any]) -> None:
    seen: list[Message] = []

    def look(message: Message) -> Outcome:
        seen.append(message)
        return Finish()

    header = b"Subject: other\r\nFrom: x@y\r\n\r\n"
    changes = Changes(mail_from="\0a@b", header_block=header, state={"n": 1e20, "t": (1,), "a": -0.0})
    deeds["a"] = lambda message: Advance(stage="b", changes=changes)
    deeds["b"] = look
    sections = chain("a", "b", a={"DEED": "a"}, b={"DEED": "b"})
    state = {"temporary_failures": 3, "kept": [1]}
    _, fused = pass_from(database, sections, kind=WithBody, state=state)
    _, alone = pass_from(database, {**sections, "b": {**sections["b"], "FUSION": "no"}}, kind=WithBody, state=state)
    ((number,),) = database.rows("SELECT workqueue_id FROM pepsi.workqueue")
    with plant(database, configured(sections), WithBody) as made:
        made.handle("b", [number])
    assert (reported(fused), reported(alone), len(seen)) == (["b"], [], 2)
    told = [{name: getattr(message, name) for name in Message.__slots__ if name not in SECRET} for message in seen]
    assert told[0] == told[1]
    assert told[0]["subject"] == "other"
    assert told[0]["size"] == len(header) + len(told[0]["body"])
    assert repr(told[0]["state"]) == repr(told[1]["state"])


def test_what_a_stage_does_to_the_state_it_was_given_is_seen_by_no_other(
    database: Database, deeds: dict[str, Any]
) -> None:
    seen: list[str] = []

    def tamper(message: Message) -> Outcome:
        seen.append(repr(message.state))
        message.state["deep"]["list"].append("mine")
        message.state["mine"] = 1  # type: ignore[index]
        following = {"a": "b", "b": "c", "c": "d"}.get(message.stage)
        return Finish() if following is None else Advance(stage=following, changes=Changes(state={"x": [1]}))

    deeds["tamper"] = tamper
    keys = {name: {"DEED": "tamper"} for name in "abcd"}
    _, answer = pass_from(database, chain("a", "b", "c", "d", **keys), state={"deep": {"list": []}})
    assert reported(answer) == ["b", "c", "d"]
    assert seen == ["{'deep': {'list': []}}"] + ["{'x': [1], 'deep': {'list': []}}"] * 3


# What may be fused


@pytest.mark.parametrize(
    ("keys", "fused"),
    [
        ({}, True),
        ({"FUSION": "no"}, False),
        ({"FUSION": ""}, False),  # the stage of the tests does not offer it
        ({"PROGRAM": "pepsi-stage-discard", "FUSION": ""}, True),
        ({"PROGRAM": "pepsi-stage discard", "FUSION": ""}, True),
        ({"PROGRAM": "pepsi-stage-discard", "FUSION": "no"}, False),
        ({"PROGRAM": "/opt/other/bin/pepsi-stage-discard"}, False),
        ({"PROGRAM": "pepsi-stage-discard -v"}, False),
        ({"PROGRAM": "pepsi-stage discard twice"}, False),
        ({"PROGRAM": "pepsi-stage-unheard-of"}, False),
        ({"PROGRAM": "python script.py"}, False),
        ({"PROGRAM": "pepsi-stage-body"}, False),  # needs what was not loaded
        ({"PROGRAM": "pepsi-stage-headers"}, False),
        ({"PROGRAM": "pepsi-stage-lender"}, True),
        ({"PROGRAM": "pepsi-stage-outside"}, False),
        ({"PROGRAM": "pepsi-stage-script"}, True),
    ],
)
def test_a_stage_is_fused_only_if_all_rules_allow_it(database: Database, keys: dict[str, str], fused: bool) -> None:
    number, answer = pass_from(database, chain("a", "b", b=keys))
    assert answer.code == 0
    assert reported(answer) == (["b"] if fused else [])
    if not fused:
        assert where(database, number) == "pending b"


def test_what_the_first_stage_loaded_may_be_needed_by_others_and_each_sees_no_more_than_it_needs(
    database: Database, deeds: dict[str, Any]
) -> None:
    seen: dict[str, tuple[bool, bool]] = {}

    def look(message: Message) -> Outcome:
        seen[message.stage] = (message.header_block is not None, message.body is not None)
        return Advance(stage={"b": "c", "c": "d", "d": "e"}[message.stage])

    deeds["look"] = look
    places = {"b": "script", "c": "headers", "d": "body"}
    keys = {name: {"DEED": "look", "PROGRAM": f"pepsi-stage-{program}"} for name, program in places.items()}
    _, answer = pass_from(database, chain("a", "b", "c", "d", "e", **keys), kind=WithBody)
    assert reported(answer) == ["b", "c", "d", "e"]
    assert seen == {"b": (False, False), "c": (True, False), "d": (True, True)}


@pytest.mark.parametrize("broken", [{"DEEED": "x"}, {"OPENS": "missing"}, {"OPENS": "bug"}])
def test_a_stage_that_cannot_be_made_ready_has_its_own_pass_and_costs_the_one_before_nothing(
    database: Database, broken: dict[str, str]
) -> None:
    number, answer = pass_from(database, chain("a", "b", "c", b=broken))
    assert answer == Status(code=0)
    assert where(database, number) == "pending b"


def test_each_stage_is_opened_when_a_message_first_comes_to_it_and_once_and_closed_at_the_end(
    database: Database,
) -> None:
    keys = {name: {"DEED": name} for name in "abc"}
    ids = put(database, "one", "two", stage="a")
    with plant(database, configured(chain("a", "b", "c", **keys))) as made:
        made.worker("a")
        assert Script.opened == []
        made.worker("a").handle(ids)
        assert Script.opened == ["b", "c"]
    assert Script.closed == 2


# The gate


def test_a_gate_lets_some_messages_through_and_has_others_dispatched(database: Database) -> None:
    sections = chain("a", "b", "c", b={"SHY": "always"})
    number, answer = pass_from(database, sections)
    assert (reported(answer), where(database, number)) == ([], "pending b")
    with plant(database, configured(sections)) as made:
        (answer,) = made.handle("b", [number])
    assert (reported(answer), where(database, number)) == (["c"], "pending end")


def test_a_gate_that_fails_is_closed(database: Database) -> None:
    number, answer = pass_from(database, chain("a", "b", b={"SHY": "bug"}))
    assert (answer, where(database, number)) == (Status(code=0), "pending b")


# Messages that are not fused


@pytest.mark.parametrize("state", [{"strikes": 1}, {"strikes": "many"}, {"interrupted": 6}, {"suspect": True}])
def test_a_message_under_suspicion_is_alone_at_each_stage(database: Database, state: dict[str, Any]) -> None:
    number, answer = pass_from(database, chain("a", "b"), state=state)
    assert (answer, where(database, number)) == (Status(code=0), "pending b")


@pytest.mark.parametrize("state", [{"strikes": 0}, {"interrupted": 5}, {"interrupted": "often"}])
def test_other_messages_are_not_under_suspicion(database: Database, state: dict[str, Any]) -> None:
    assert reported(pass_from(database, chain("a", "b"), state=state)[1]) == ["b"]


@pytest.mark.parametrize(("recipients", "fused"), [(("a@b",), ["b"]), (("a@b", "c@d"), [])])
def test_a_rewritten_message_goes_on_in_the_same_pass_only_with_one_recipient(
    database: Database, deeds: dict[str, Any], recipients: tuple[str, ...], fused: list[str]
) -> None:
    deeds["a"] = lambda message: Advance(stage="b", changes=Changes(body=b"new"))
    _, answer = pass_from(database, chain("a", "b", a={"DEED": "a"}), kind=WithBody, recipients=recipients)
    assert reported(answer) == fused
    assert bytes(database.value("SELECT body FROM pepsi.workqueue JOIN pepsi.workqueue_body USING (body_id)")) == b"new"


def test_a_message_of_which_too_little_was_loaded_to_know_its_new_size_goes_on_as_ever(
    database: Database, deeds: dict[str, Any]
) -> None:
    deeds["a"] = lambda message: Advance(stage="b", changes=Changes(body=b"new"))
    number, answer = pass_from(database, chain("a", "b", a={"DEED": "a"}))
    assert (reported(answer), where(database, number)) == ([], "pending b")


def test_a_circle_is_left_at_the_cap(database: Database) -> None:
    number, answer = pass_from(database, chain("a", "b", last="a"))
    assert len(answer.report) == DEPTH == 32
    assert reported(answer)[:3] == ["b", "a", "b"]
    assert where(database, number) == "pending b"


def test_a_message_that_is_no_longer_ours_is_left_alone(database: Database, deeds: dict[str, Any]) -> None:
    (number,) = put(database, "hello", stage="a")

    def lose(message: Message) -> Outcome:
        claim_again(database, number, token=TOKEN + 1)
        return Advance(stage="end", changes=Changes(state={"x": 1}))

    deeds["b"] = lose
    with plant(database, configured(chain("a", "b", b={"DEED": "b"}))) as made:
        assert made.worker("a").handle([number]) == [Status(code=0)]
    assert (where(database, number), row(database, number)["state"]) == ("running a", {})


# Failures


def failing(database: Database, deeds: dict[str, Any], deed: Any, **keys: str) -> tuple[dict[str, Any], Status, int]:
    """Let a message fail in a chain, at the stage c; return its row, the answer, and how many statements that took."""
    deeds["b"] = lambda message: Advance(stage="c", changes=Changes(mail_from="b@b", state={"b": 1}))
    deeds["c"] = deed
    sections = configured(chain("a", "b", "c", "bounce", b={"DEED": "b"}, c={"DEED": "c", **keys}))
    (number,) = put(database, "hello", stage="a", state={"temporary_failures": 7})
    if keys.get("MAX_LIFETIME"):
        database.rows("UPDATE pepsi.workqueue SET received_at = now() - interval '2 hours'")
    with plant(database, sections) as made:
        (answer,) = made.worker("a").handle([number])
        asked = made.links["a"].asked
    found = dict(row(database, number))
    assert (found["mail_from"], found["state"]["b"], found["claim"]) == ("b@b", 1, None)
    return found, answer, asked


def raising(error: Exception) -> Any:
    def deed(message: Message) -> Outcome:
        raise error

    return deed


def test_a_host_fault_in_a_chain_pauses_the_message_at_the_stage_that_failed_and_counts_anew(
    database: Database, deeds: dict[str, Any]
) -> None:
    found, answer, asked = failing(database, deeds, raising(KeyError("bug")))
    assert (found["status"], found["stage"], asked) == ("paused", "c", 2)
    assert found["state"] == {"b": 1, "temporary_failures": 1, "last_error": "KeyError: 'bug'"}
    assert (answer.code, reported(answer)) == (0, ["b", "c"])


def test_a_retry_resumes_at_the_stage_that_failed(database: Database, deeds: dict[str, Any]) -> None:
    found, _, _ = failing(database, deeds, raising(TryLater("later")))
    deeds["c"] = lambda message: Finish()
    number = found["workqueue_id"]
    with plant(database, configured(chain("c", "bounce", c={"DEED": "c"}))) as made:
        made.handle("c", [number])
    assert not database.rows("SELECT FROM pepsi.workqueue")


def test_a_permanent_failure_in_a_chain_fails_the_message_at_that_stage(
    database: Database, deeds: dict[str, Any]
) -> None:
    found, answer, asked = failing(database, deeds, raising(Refuse("bad")))
    assert (found["status"], found["stage"], asked) == ("failed", "c", 2)
    assert found["state"] == {"b": 1, "last_error": "bad", "failed_stage": "c", "failure_class": "permanent"}
    assert (answer.code, reported(answer)) == (65, ["b", "c"])


def test_in_a_chain_the_lifetime_and_bounce_stage_are_those_of_the_stage_that_failed(
    database: Database, deeds: dict[str, Any]
) -> None:
    keys = {"MAX_LIFETIME": "1 h", "BOUNCE_STAGE": "bounce"}
    found, answer, _ = failing(database, deeds, raising(TryLater("later")), **keys)
    assert (found["status"], found["stage"], answer.code) == ("pending", "bounce", 0)
    assert found["state"]["failed_stage"] == "c"
    assert found["state"]["failure_class"] == "retries-exhausted"
    assert reported(answer) == ["b", "c"]


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Pause(delay=None, clones=(Clone(stage="bounce", recipients=("x@y",)),)), "paused"),
        (Finish(clones=(Clone(stage="bounce", recipients=("x@y",)),)), None),
        (Fail(reason="bad"), "failed"),
    ],
)
@pytest.mark.parametrize("rewritten", [True, False])
def test_what_a_chain_changed_is_on_the_row_before_copies_of_it_are_made(
    database: Database, deeds: dict[str, Any], outcome: Outcome, status: str | None, rewritten: bool
) -> None:
    header = b"Subject: new\r\n\r\n" if rewritten else None
    changes = Changes(mail_from="new@b", header_block=header, state={"b": 1})
    deeds["b"] = lambda message: Advance(stage="c", changes=changes)
    deeds["c"] = lambda message: outcome
    sections = chain("a", "b", "c", "bounce", b={"DEED": "b"}, c={"DEED": "c"})
    _, answer = pass_from(database, sections, kind=WithBody)
    assert reported(answer) == ["b", "c"]
    text = "SELECT status, stage, mail_from, subject, state ->> 'b' FROM pepsi.workqueue ORDER BY workqueue_id"
    subject = "new" if rewritten else "hello"
    expected = [] if status is None else [(status, "c", "new@b", subject, "1")]
    expected += [] if isinstance(outcome, Fail) else [("pending", "bounce", "new@b", subject, "1")]
    assert database.rows(text) == expected


def test_a_chain_that_the_database_refuses_is_written_stage_by_stage_and_costs_no_other_message(
    database: Database, deeds: dict[str, Any]
) -> None:
    database.rows("ALTER TABLE pepsi.workqueue ADD CHECK (NOT state ? 'forbidden')")

    def forbidden(message: Message) -> Outcome:
        state = {"forbidden": 1} if message.subject == "bad" else {"fine": 1}
        return Advance(stage="d", changes=Changes(state=state))

    deeds["c"] = forbidden
    first, bad, last = put(database, "good", "bad", "good", stage="a")
    with plant(database, configured(chain("a", "b", "c", "d", c={"DEED": "c"}))) as made:
        answers = made.worker("a").handle([first, bad, last])
        assert [reported(answer) for answer in answers] == [["b", "c", "d"], [], ["b", "c", "d"]]
        places = [where(database, bad)]
        for stage in ("b", "c"):
            assert made.handle(stage, [bad]) == [Status(code=0)]
            places.append(where(database, bad))
    assert places == ["pending b", "pending c", "paused c"]
    assert [where(database, number) for number in (first, last)] == ["pending end"] * 2
    assert "the database refused what the stage decided" in row(database, bad)["state"]["last_error"]


def test_what_means_that_the_process_cannot_go_on_ends_it_from_within_a_chain_too(
    database: Database, deeds: dict[str, Any]
) -> None:
    deeds["b"] = raising(MemoryError())
    with pytest.raises(MemoryError):
        pass_from(database, chain("a", "b", b={"DEED": "b"}))
    assert database.rows("SELECT status, stage FROM pepsi.workqueue") == [("running", "a")]
