"""Letters: the form in which a message goes out, byte for byte where that is possible."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.model.message import Message
from pepsi.relay.commands import beyond, mail, rcpt, unsendable
from pepsi.relay.extensions import NONE, Extensions, extensions_of
from pepsi.relay.letter import DsnWishes, Letter, dot_stuffed, dsn_wishes, in_crlf_form, letter_of
from pepsi.relay.replies import Reply

ALL = Extensions(keywords=frozenset({"SIZE", "8BITMIME", "SMTPUTF8", "DSN", "PIPELINING"}))

AWKWARD = st.lists(st.sampled_from([b".", b"..", b"\r\n", b"\n", b"\r", b"a", b"\xff", b" "])).map(b"".join)


def unstuffed(data: bytes) -> bytes:
    return (b"\r\n" + data).replace(b"\r\n.", b"\r\n")[2:]


@given(AWKWARD)
def test_no_bare_line_end_is_left(message: bytes):
    data = in_crlf_form(message)
    assert b"\r" not in data.replace(b"\r\n", b"") and b"\n" not in data.replace(b"\r\n", b"")
    assert re.split(rb"\r\n|\r|\n", message.removesuffix(b"\n").removesuffix(b"\r")) == data[:-2].split(b"\r\n") or (
        message == data == b""
    )


@given(st.lists(st.sampled_from([b".", b"..", b"\r\n", b"a", b"\xff"])).map(b"".join))
def test_a_message_in_crlf_form_is_left_as_it_is(message: bytes):
    assert in_crlf_form(message + b"\r\n") == message + b"\r\n"


@given(AWKWARD)
def test_a_stuffed_message_never_ends_early_and_comes_out_the_same(message: bytes):
    data = in_crlf_form(message)
    sent = dot_stuffed(data)
    assert b"\r\n.\r\n" not in b"\r\n" + sent
    assert unstuffed(sent) == data


def message(**keywords: Any) -> Message:
    settings: dict[str, Any] = {
        "workqueue_id": 1,
        "claim": 1,
        "stage": "out",
        "received_at": datetime(2026, 1, 1, tzinfo=UTC),
        "age": 0.0,
        "mail_from": "a@example.org",
        "recipients": ("b@example.org",),
        "header_block": b"Subject: x\r\n\r\n",
        "body": b"text\r\n",
    }
    return Message(**settings | keywords)


def test_a_letter_is_header_and_body_together():
    assert letter_of(message()).data == b"Subject: x\r\n\r\ntext\r\n"


def test_a_mailbox_is_written_to_once_however_often_it_is_named():
    recipients = ("b@example.org", "b@EXAMPLE.org", "c@example.org", "b@example.org")
    assert letter_of(message(recipients=recipients)).recipients == ("b@example.org", "c@example.org")


def test_wishes_about_notices_are_read_from_the_state():
    smtp = {
        "ret": "hdrs",
        "envid": "QQ314159",
        "notify": {"b@example.org": "SUCCESS,FAILURE"},
        "orcpt": {"b@example.org": "rfc822;b+2Bc@example.org"},
    }
    assert dsn_wishes(smtp) == DsnWishes(ret="HDRS", envid="QQ314159", notify=smtp["notify"], orcpt=smtp["orcpt"])


@pytest.mark.parametrize(
    "smtp",
    [
        None,
        "FULL",
        {"ret": "BOTH"},
        {"ret": ["FULL"]},
        {"envid": "a b"},
        {"envid": "a\r\nDATA"},
        {"envid": "x" * 101},
        {"envid": ""},
        {"notify": {"b": "NEVER,SUCCESS"}},
        {"notify": {"b": "SUCCESS\r\nDATA"}},
        {"notify": ["NEVER"]},
        {"orcpt": {"b": "rfc822;a b"}},
        {"orcpt": {"b": "a@b"}},
        {"orcpt": {"b": "rfc822;a=b"}},
    ],
)
def test_a_wish_in_the_wrong_form_is_left_out(smtp: Any):
    assert dsn_wishes(smtp) == DsnWishes()


def letter(**keywords: Any) -> Letter:
    return Letter(**{"sender": "a@example.org", "recipients": ("b@example.org",), "data": b"x\r\n"} | keywords)


def test_only_what_the_host_offers_is_used():
    wishes = DsnWishes(ret="FULL", envid="e", notify={"b@example.org": "NEVER"}, orcpt={"b@example.org": "rfc822;b"})
    full = letter(dsn=wishes, eight_bit=True, utf8_header=True)
    assert mail(full, NONE) == b"MAIL FROM:<a@example.org>\r\n"
    assert mail(full, ALL) == b"MAIL FROM:<a@example.org> SIZE=3 BODY=8BITMIME SMTPUTF8 RET=FULL ENVID=e\r\n"
    assert rcpt("b@example.org", full, NONE) == b"RCPT TO:<b@example.org>\r\n"
    assert rcpt("b@example.org", full, ALL) == b"RCPT TO:<b@example.org> NOTIFY=NEVER ORCPT=rfc822;b\r\n"


def test_a_plain_letter_asks_for_nothing_special():
    assert mail(letter(sender=""), ALL) == b"MAIL FROM:<> SIZE=3\r\n"


def test_a_letter_for_an_international_address_asks_for_smtputf8():
    assert b"SMTPUTF8" in mail(letter(recipients=("b@example.org", "\u00f6@example.org")), ALL)


def test_what_no_command_can_carry_is_refused_before_a_host_is_asked():
    assert unsendable(letter(recipients=("b@c\r\nDATA", "d@e"))).keys() == {"b@c\r\nDATA"}
    assert unsendable(letter(sender="a\n@b"))["b@example.org"].status == "5.1.7"
    assert unsendable(letter(data=b"a\0b\r\n"))["b@example.org"].status == "5.6.0"
    assert unsendable(letter(sender="")) == {}


@pytest.mark.parametrize(
    ("keywords", "extensions", "status"),
    [
        ({"data": b"x" * 99 + b"\r\n"}, Extensions(size_limit=100), "5.3.4"),
        ({"eight_bit": True}, NONE, "5.6.3"),
        ({"sender": "\u00f6@example.org"}, NONE, "5.6.7"),
        ({"recipients": ("\u00f6@example.org",)}, NONE, "5.6.7"),
        ({"utf8_header": True}, NONE, "5.6.9"),
    ],
)
def test_what_the_host_cannot_take_is_refused_with_a_status_that_says_why(
    keywords: dict[str, Any], extensions: Extensions, status: str
):
    [answer] = beyond(letter(**keywords), extensions).values()
    assert answer.status == status
    assert beyond(letter(**keywords), ALL) == {}


def test_only_the_recipients_that_need_smtputf8_suffer_for_it():
    assert beyond(letter(recipients=("b@example.org", "\u00f6@example.org")), NONE).keys() == {"\u00f6@example.org"}


def test_eight_bits_can_be_forced_on_a_host():
    assert beyond(letter(eight_bit=True), NONE, force_8bit=True) == {}


def test_what_a_host_can_do_is_read_from_its_reply():
    lines = (b"mx greets you", b"size 1000", b"AUTH=LOGIN", b"AUTH PLAIN CRAM-MD5", b"8bitmime", b"", b"\xff")
    found = extensions_of(Reply(code=250, lines=lines))
    assert found.size_limit == 1000
    assert {"PLAIN", "LOGIN"} <= found.auth
    assert "8BITMIME" in found and "DSN" not in found


@pytest.mark.parametrize("line", [b"SIZE", b"SIZE 0", b"SIZE many", b"SIZE -1"])
def test_a_host_that_names_no_size_has_no_limit(line: bytes):
    assert extensions_of(Reply(code=250, lines=(b"mx", line))).size_limit is None
