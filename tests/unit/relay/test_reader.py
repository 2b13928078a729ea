"""Replies: what a host may write, and what is made of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.relay.answers import Verdict, from_reply, verdict_of
from pepsi.relay.faults import LinkError
from pepsi.relay.reader import LINE_LIMIT, LINES_LIMIT, ReplyReader
from pepsi.relay.replies import TEXT_LIMIT, Reply


def read(data: bytes) -> list[Reply]:
    reader = ReplyReader()
    reader.feed(data)
    replies = []
    while (reply := reader.take()) is not None:
        replies.append(reply)
    return replies


def test_a_reply_of_one_line_is_read():
    assert [(reply.code, reply.text) for reply in read(b"250 2.0.0 ok\r\n")] == [(250, "2.0.0 ok")]


def test_a_reply_of_several_lines_is_one_reply():
    [reply] = read(b"250-first\r\n250-second\r\n250 third\r\n")
    assert reply.lines == (b"first", b"second", b"third")
    assert str(reply) == "250 first second third"


def test_the_code_of_the_last_line_counts():
    assert [reply.code for reply in read(b"250-no\r\n550 yes\r\n")] == [550]


@pytest.mark.parametrize("data", [b"250\r\n", b"250 \r\n", b"250\n"])
def test_a_reply_may_have_no_text(data: bytes):
    [reply] = read(data)
    assert str(reply) == "250"


def test_several_replies_in_one_packet_stay_apart():
    assert [reply.code for reply in read(b"250 a\r\n550-b\r\n550 c\r\n354 d\r\n")] == [250, 550, 354]


def test_half_a_reply_is_no_reply_yet():
    reader = ReplyReader()
    reader.feed(b"250-a\r\n250")
    assert reader.take() is None
    assert not reader.is_empty
    reader.feed(b" b\r\n")
    assert reader.take() is not None
    assert reader.is_empty


@given(st.lists(st.integers(1, 6)))
def test_where_packets_end_makes_no_difference(cuts: list[int]):
    data = b"250-a\r\n250 b\r\n421 4.3.2 c\r\n"
    reader, replies = ReplyReader(), []
    while data:
        size = cuts.pop() if cuts else len(data)
        reader.feed(data[:size])
        data = data[size:]
        while (reply := reader.take()) is not None:
            replies.append(str(reply))
    assert replies == ["250 a b", "421 4.3.2 c"]


@pytest.mark.parametrize(
    "data",
    [b"hello\r\n", b"25 ok\r\n", b"2500 ok\r\n", b"250_ok\r\n", b"150 ok\r\n", b"650 ok\r\n", b"\r\n", b"\xff\n"],
)
def test_what_is_no_reply_is_refused(data: bytes):
    with pytest.raises(LinkError, match="not an SMTP reply"):
        read(data)


def test_a_line_without_end_is_refused_before_it_fills_the_memory():
    with pytest.raises(LinkError, match="more than"):
        read(b"250 " + b"x" * LINE_LIMIT)


def test_an_endless_reply_is_refused():
    with pytest.raises(LinkError, match="lines"):
        read(b"250-more\r\n" * (LINES_LIMIT + 1))


@given(st.binary(max_size=400))
def test_the_text_of_a_reply_is_always_one_short_printable_line(said: bytes):
    text = Reply(code=550, lines=(said, said)).text
    assert len(text.encode()) <= TEXT_LIMIT
    assert "\0" not in text and "\n" not in text and "\x1b" not in text


@given(st.binary(max_size=200))
def test_any_bytes_are_a_reply_or_a_fault(data: bytes):
    try:
        read(data)
    except LinkError:
        return


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"5.1.1 who?", "5.1.1"),
        (b"5.1.1", "5.1.1"),
        (b"4.1.1 a temporary code in a refusal", "5.0.0"),
        (b"5.1.1.1 no code", "5.0.0"),
        (b"no code", "5.0.0"),
    ],
)
def test_an_enhanced_code_is_believed_if_it_fits_the_reply(line: bytes, status: str):
    assert Reply(code=550, lines=(line,)).status == status


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (250, Verdict.DELIVERED),
        (251, Verdict.DELIVERED),
        (450, Verdict.RETRY),
        (550, Verdict.REFUSED),
        (530, Verdict.RETRY),
        (535, Verdict.RETRY),
        (503, Verdict.RETRY),
    ],
)
def test_the_class_of_a_reply_decides_unless_the_fault_is_ours(code: int, verdict: Verdict):
    assert verdict_of(Reply(code=code, lines=(b"x",))) is verdict


def test_a_reply_that_fits_no_command_is_a_fault():
    with pytest.raises(LinkError, match="unexpected"):
        verdict_of(Reply(code=354, lines=(b"go on",)))


def test_a_refusal_that_is_tried_again_has_a_temporary_status():
    answer = from_reply(Reply(code=535, lines=(b"5.7.8 wrong password",)), "mx")
    assert (answer.verdict, answer.status) == (Verdict.RETRY, "4.7.8")
    assert answer.reason == "mx said: 535 5.7.8 wrong password"
