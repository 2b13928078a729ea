"""Telling intact mail from damaged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.demo.check import compare, is_intact, report

SENT = b"Subject: x\r\n\r\ntext\r\n"
RECEIVED = b"Received: from a\r\n\tby b;\r\n\tnow\r\n"
TRACE = b"Return-Path: <a@b.example>\r\nDelivered-To: c@d.example\r\n" + RECEIVED


@pytest.mark.parametrize("prefix", [b"", RECEIVED, TRACE, RECEIVED * 3, b"RECEIVED : odd\r\n \tfolded\r\n"])
def test_trace_fields_on_top_are_no_damage(prefix: bytes) -> None:
    assert is_intact(SENT, prefix + SENT)


@pytest.mark.parametrize(
    "arrived",
    [
        b"",
        SENT[1:],
        SENT + b"\r\n",
        SENT[:-2],
        SENT.replace(b"\r\n", b"\n"),
        b"X-Spam: no\r\n" + SENT,
        b"\r\n" + SENT,
        RECEIVED + b"\r\n" + SENT,
        RECEIVED[:-2] + SENT,
        b"\tfolded\r\n" + SENT,
        b"Subject: x\r\n" + RECEIVED + b"\r\ntext\r\n",
    ],
)
def test_anything_else_is_damage(arrived: bytes) -> None:
    assert not is_intact(SENT, arrived)


@given(st.binary(), st.integers(0, 3))
def test_every_message_is_intact_below_trace_fields(message: bytes, hops: int) -> None:
    assert is_intact(message, RECEIVED * hops + message)


@given(st.dictionaries(st.text(max_size=3), st.binary(), max_size=5), st.randoms(use_true_random=False))
def test_what_arrives_as_it_was_sent_is_good_in_any_order(messages: dict[str, bytes], random: object) -> None:
    arrived = [RECEIVED + message for message in messages.values()]
    random.shuffle(arrived)  # type: ignore[attr-defined]
    findings = compare({name: (message, 1) for name, message in messages.items()}, arrived)
    assert findings.good
    assert set(findings.intact) == set(messages)


def test_a_message_that_did_not_come_is_lost() -> None:
    findings = compare({"one": (SENT, 1), "two": (b"other\r\n", 1)}, [SENT])
    assert (findings.intact, findings.lost, findings.surprises) == (("one",), ("two",), ())


def test_a_copy_that_is_missing_is_a_loss_and_one_too_many_a_surprise() -> None:
    assert compare({"one": (SENT, 2)}, [SENT]).lost == ("one",)
    findings = compare({"one": (SENT, 2)}, [SENT] * 3)
    assert (findings.lost, findings.surprises) == ((), ("one arrived more often than it was sent",))


def test_a_changed_message_is_lost_and_the_place_is_named() -> None:
    findings = compare({"one": (SENT, 1), "two": (b"other\r\n", 1)}, [b"other\r\n", SENT.replace(b"text", b"tent")])
    assert findings.lost == ("one",)
    (sentence,) = findings.surprises
    assert "one arrived changed: 3 bytes before its end" in sentence
    assert "tex" in sentence
    assert "ten" in sentence


def test_a_field_that_is_no_trace_is_shown() -> None:
    (sentence,) = compare({"one": (SENT, 1)}, [b"X-Spam: no\r\n" + SENT]).surprises
    assert "X-Spam" in sentence


def test_a_message_that_was_never_sent_is_told() -> None:
    findings = compare({"one": (SENT, 1)}, [SENT, b"hello"])
    assert findings.surprises == ("a message of 5 bytes arrived that was never sent",)


def test_a_message_and_the_same_below_a_trace_field_are_told_apart() -> None:
    sent = {"below": (SENT, 1), "above": (RECEIVED + SENT, 1)}
    assert compare(sent, [RECEIVED + RECEIVED + SENT, RECEIVED + SENT]).good


def test_the_report_tells_what_is_good_and_what_is_not_for_each_place() -> None:
    places = {
        "mailboxes": compare({"one": (SENT, 1)}, [TRACE + SENT]),
        "relayed": compare({"two": (SENT, 1)}, [b"hello"]),
    }
    lines = report(places)
    assert lines[:3] == ("mailboxes: 1 of 1 byte for byte", "relayed: 0 of 1 byte for byte", "  two is lost")
    assert lines[3].startswith("  two arrived changed")
