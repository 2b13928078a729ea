"""Header block and body of a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.model.claim import COUNTER_BITS, epoch_of, pack
from pepsi.model.envelope import split_message

pieces = st.lists(st.sampled_from([b"\r\n", b"\r", b"\n", b"Subject: x", b"a", b"\xff", b"\0"]), max_size=30).map(
    b"".join
)


@pytest.mark.parametrize(
    ("message", "header_block", "body"),
    [
        (b"A: b\r\n\r\ntext\r\n", b"A: b\r\n\r\n", b"text\r\n"),
        (b"A: b\r\n\r\n\r\n\r\n", b"A: b\r\n\r\n", b"\r\n\r\n"),
        (b"A: b\r\n\r\n", b"A: b\r\n\r\n", b""),
        (b"A: b\r\n", b"A: b\r\n", b""),
        (b"\r\ntext\r\n", b"\r\n", b"text\r\n"),
        (b"\r\n\r\n", b"\r\n", b"\r\n"),
        (b"A: b\n\ntext", b"A: b\n\ntext", b""),
        (b"", b"", b""),
    ],
)
def test_the_first_empty_line_ends_the_header_block(message: bytes, header_block: bytes, body: bytes) -> None:
    assert split_message(message) == (header_block, body)


@given(st.binary() | pieces)
def test_header_block_and_body_are_the_message(message: bytes) -> None:
    header_block, body = split_message(message)
    assert header_block + body == message


@given(pieces, st.binary())
def test_what_the_body_holds_never_moves_the_cut(headers: bytes, body: bytes) -> None:
    header_block, _ = split_message(headers + b"\r\n\r\n")
    assert split_message(header_block + body) == (header_block, body)


@given(st.integers(1, 2**23 - 1), st.integers(0, 2**COUNTER_BITS - 1))
def test_a_claim_token_is_a_positive_bigint_that_tells_its_epoch(epoch: int, counter: int) -> None:
    token = pack(epoch, counter)
    assert 0 < token < 2**63
    assert epoch_of(token) == epoch
