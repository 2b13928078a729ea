"""What a client sent, line by line."""

from hypothesis import given
from hypothesis import strategies as st

from pepsi.ingress.inbox import Inbox


@given(st.lists(st.binary(max_size=8)), st.integers(1, 7))
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[bytes], step: int):
    lines = [line.replace(b"\n", b"") for line in lines]
    sent = b"".join(line + b"\r\n" for line in lines) + b"rest"
    inbox, taken = Inbox(), []
    for at in range(0, len(sent), step):
        inbox.add(sent[at : at + step])
        while (line := inbox.take_line(100)) is not None:
            taken.append(line)
    assert b"\r\n".join([*taken, b""]) == b"\r\n".join([*lines, b""])
    assert inbox.take_all() == b"rest"
    assert len(inbox) == 0


def test_a_line_over_the_limit_is_not_taken():
    inbox = Inbox()
    inbox.add(b"x" * 10 + b"\r\n")
    assert inbox.take_line(9) is None
    assert inbox.take_line(10) == b"x" * 10
