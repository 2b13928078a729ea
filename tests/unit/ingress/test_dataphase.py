"""The data of a message: byte exact at every cut, and one message only, whatever stands in it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.ingress.budget import Budget
from pepsi.ingress.dataphase import DataPhase, Flaw
from pepsi.ingress.intake import Intake

LIMIT = 10_000
NEXT = b"MAIL FROM:<evil@x>\r\n"

LINES = st.lists(st.sampled_from([b"", b".", b"..", b"...", b"....", b"..a", b".a", b"a.", b"a", b"\xff\xfe", b" "]))

SMUGGLED_ENDS = [
    b"\n.\n",
    b"\n.\r\n",
    b"\r\n.\n",
    b"\r.\r",
    b"\n.\r",
    b"\r.\n",
    b"\r\n.\r",
    b"\r\r\n.\r\r\n",
    b"\r\n\x00.\r\n",
    b"\r\n.\x00\r\n",
    b"\r\n.\r\r\n",
]


def stuffed(message: bytes) -> bytes:
    return (b"\r\n" + message).replace(b"\r\n.", b"\r\n..")[2:] + b".\r\n"


def fed(chunks: list[bytes], limit: int = LIMIT) -> tuple[DataPhase, bytes | None]:
    """Feed *chunks* until the end is met; return the phase, and what was left of them then."""
    phase = DataPhase(limit)
    for number, chunk in enumerate(chunks):
        rest = phase.feed(chunk)
        if rest is not None:
            return phase, rest + b"".join(chunks[number + 1 :])
    return phase, None


@given(LINES, st.lists(st.integers(0, 300)), st.binary(max_size=20))
def test_any_cut_gives_the_same_message_and_the_same_rest(lines: list[bytes], cuts: list[int], after: bytes):
    message = b"".join(line + b"\r\n" for line in lines)
    sent = stuffed(message) + after
    borders = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    phase, rest = fed([sent[low:high] for low, high in pairwise(borders)])
    assert (phase.flaw, phase.message(b""), rest) == (None, message, after)


def test_a_dot_at_the_start_of_any_chunk_is_taken_off_once():
    message = b".\r\n..\r\n.a\r\na.\r\n.\r\n"
    sent = stuffed(message)
    for cut in range(len(sent)):
        phase, rest = fed([sent[:cut], sent[cut:]])
        assert (phase.message(b""), rest) == (message, b"")
    phase, _ = fed([sent[at : at + 1] for at in range(len(sent))])
    assert phase.message(b"") == message


def test_a_dot_alone_is_an_empty_message():
    phase, rest = fed([b".\r\n" + NEXT])
    assert (phase.message(b"Received: x\r\n"), rest) == (b"Received: x\r\n", NEXT)


@pytest.mark.parametrize("end", SMUGGLED_ENDS)
@pytest.mark.parametrize("by_byte", [False, True])
def test_only_crlf_dot_crlf_ends_a_message_and_what_tries_to_is_refused(end: bytes, by_byte: bool):
    sent = b"Subject: x\r\n\r\nx" + end + NEXT + b"RCPT TO:<v@y>\r\nDATA\r\nsmuggled\r\n.\r\n"
    phase, rest = fed([sent[at : at + 1] for at in range(len(sent))] if by_byte else [sent])
    assert (phase.flaw, rest) == (Flaw.CHARACTERS, b"")
    assert phase.kept == 0


@given(st.binary(max_size=50), st.integers(1, 5))
def test_whatever_passes_has_no_bare_line_end_and_no_nul(data: bytes, step: int):
    sent = data + b"\r\n.\r\n"
    phase, rest = fed([sent[at : at + step] for at in range(0, len(sent), step)])
    assert rest is not None
    if phase.flaw is None:
        bare = phase.message(b"").replace(b"\r\n", b"")
        assert not set(b"\r\n\0") & set(bare)


def test_a_message_of_just_the_limit_passes_and_a_byte_more_does_not():
    for size, flaw in ((LIMIT, None), (LIMIT + 1, Flaw.SIZE)):
        phase, rest = fed([stuffed(b"." * (size - 2) + b"\r\n")])
        assert (phase.flaw, rest) == (flaw, b"")


def test_a_message_without_end_keeps_no_more_than_the_limit():
    phase = DataPhase(LIMIT)
    for _ in range(1000):
        assert phase.feed(b"x" * 1000) is None
        assert phase.kept <= LIMIT
    assert (phase.feed(b"\r\n.\r\nrest"), phase.flaw) == (b"rest", Flaw.SIZE)


def test_memory_is_taken_while_a_message_grows_and_given_back_once():
    budget = Budget(1000)
    intake = Intake(budget, LIMIT)
    intake.feed(b"x" * 600 + b"\r\n")
    assert budget.room < 1000 - 600 + 1
    intake.feed(b".\r\n")
    assert budget.room == 1000 - 602
    intake.release()
    intake.release()
    assert budget.room == 1000


def test_a_message_for_which_there_is_no_memory_is_dropped_and_read_to_its_end():
    budget = Budget(1000)
    assert budget.take(500)
    intake = Intake(budget, LIMIT)
    assert intake.feed(b"x" * 400) is None
    assert intake.feed(b"x" * 400) is None
    assert (intake.phase.flaw, budget.room) == (Flaw.MEMORY, 500)
    assert intake.feed(b"\r\n.\r\nrest") == b"rest"
