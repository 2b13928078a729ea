"""AUTH PLAIN and AUTH LOGIN, and every way to get them wrong."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.ingress import replies
from pepsi.ingress.auth import Credentials, Exchange, begin
from pepsi.ingress.replies import Reply

ALICE = Credentials("alice", "s3cret")
PLAIN = b64encode(b"\0alice\0s3cret")


def going(argument: bytes) -> tuple[Exchange, Reply]:
    exchange, said = begin(argument)
    assert exchange is not None and isinstance(said, Reply)
    return exchange, said


def test_plain_takes_its_response_with_the_command_or_after_it():
    assert begin(b"PLAIN " + PLAIN) == (None, ALICE)
    exchange, said = going(b"plain")
    assert said.wire == b"334 \r\n"
    assert exchange.answer(PLAIN) == ALICE


def test_login_asks_for_both_or_takes_the_login_with_the_command():
    exchange, said = going(b"LOGIN")
    assert said.wire == b"334 VXNlcm5hbWU6\r\n"
    asked = exchange.answer(b64encode(b"alice"))
    assert isinstance(asked, Reply) and asked.wire == b"334 UGFzc3dvcmQ6\r\n"
    assert exchange.answer(b64encode(b"s3cret")) == ALICE
    exchange, said = going(b"LOGIN " + b64encode(b"alice"))
    assert said.wire == b"334 UGFzc3dvcmQ6\r\n"
    assert exchange.answer(b64encode(b"s3cret")) == ALICE


def test_an_equals_sign_is_an_empty_initial_response():
    assert begin(b"PLAIN =") == (None, replies.AUTH_SYNTAX)
    exchange, _ = going(b"LOGIN =")
    assert exchange.answer(b64encode(b"x")) == Credentials("", "x")


@pytest.mark.parametrize(
    ("argument", "reply"),
    [
        (b"", replies.AUTH_USAGE),
        (b"PLAIN a b", replies.AUTH_USAGE),
        (b"CRAM-MD5", replies.AUTH_MECHANISM),
        (b"PL\xff", replies.AUTH_MECHANISM),
        (b"PLAIN ***", replies.AUTH_SYNTAX),
        (b"PLAIN *", replies.AUTH_ABORTED),
        (b"PLAIN YQ", replies.AUTH_SYNTAX),
        (b"PLAIN " + b64encode(b"alice\0s3cret"), replies.AUTH_SYNTAX),
        (b"PLAIN " + b64encode(b"\0\0\0\0"), replies.AUTH_SYNTAX),
        (b"PLAIN " + b64encode(b"bob\0alice\0s3cret"), replies.BAD_CREDENTIALS),
        (b"PLAIN " + b64encode(b"\0\xff\0s3cret"), replies.BAD_CREDENTIALS),
    ],
)
def test_a_wrong_start_gets_its_reply(argument: bytes, reply: Reply):
    assert begin(argument) == (None, reply)


def test_an_exchange_can_be_cancelled_at_every_step():
    for argument in (b"PLAIN", b"LOGIN", b"LOGIN " + b64encode(b"alice")):
        exchange, _ = going(argument)
        assert exchange.answer(b"*") is replies.AUTH_ABORTED


@given(st.lists(st.one_of(st.binary(max_size=20), st.binary(max_size=20).map(b64encode)), max_size=3))
def test_no_line_breaks_an_exchange(lines: list[bytes]):
    for mechanism in (b"PLAIN", b"LOGIN"):
        exchange, _ = going(mechanism)
        for line in lines:
            assert isinstance(exchange.answer(line), Reply | Credentials)


def test_a_password_is_in_no_repr():
    assert "s3cret" not in repr(ALICE)
