"""What a worker writes, as a stream that arrives in pieces of any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.errors import WireError
from pepsi.model.status import Status
from pepsi.wire.session import Ready, WorkerOutput, parse_id, render_ids
from pepsi.wire.status import LINE_LIMIT


def hear(*pieces: bytes) -> tuple[list[Ready | Status], WireError | None]:
    """Feed *pieces* until one is refused."""
    output = WorkerOutput()
    heard: list[Ready | Status] = []
    for piece in pieces:
        values, error = output.feed(piece)
        heard += values
        if error is not None:
            return heard, error
    return heard, None


def test_the_first_line_says_ready_and_the_rest_are_answers() -> None:
    assert hear(b"ready\n0\n1 no\n") == ([Ready(batch=False), Status(code=0), Status(code=1, reason="no")], None)
    assert hear(b"ready batch\n") == ([Ready(batch=True)], None)


@pytest.mark.parametrize("line", [b"", b"0", b"Ready", b"ready ", b"ready\r", b"ready  batch", b"hello"])
def test_nothing_but_ready_comes_first(line: bytes) -> None:
    heard, error = hear(line + b"\n")
    assert heard == []
    assert error is not None
    assert "before 'ready'" in str(error)


def test_ready_is_said_once() -> None:
    heard, error = hear(b"ready\nready\n")
    assert heard == [Ready(batch=False)]
    assert error is not None


def test_what_came_before_a_bad_line_is_heard() -> None:
    heard, error = hear(b"ready\n0\nnonsense\n0\n")
    assert heard == [Ready(batch=False), Status(code=0)]
    assert error is not None


def test_an_unfinished_line_says_nothing_yet() -> None:
    assert hear(b"ready\n", b"7") == ([Ready(batch=False)], None)
    assert hear(b"ready\n", b"7", b"4\n") == ([Ready(batch=False), Status(code=74)], None)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_over_the_limit_is_refused_finished_or_not(end: bytes) -> None:
    heard, error = hear(b"ready\n", b"1 " + b"x" * LINE_LIMIT + end)
    assert heard == [Ready(batch=False)]
    assert error is not None
    assert str(LINE_LIMIT) in str(error)


def test_a_line_at_the_limit_is_read() -> None:
    heard, error = hear(b"ready\n", b"1 " + b"x" * (LINE_LIMIT - 2) + b"\n")
    assert error is None
    assert len(heard) == 2


@given(st.lists(st.binary(max_size=40), max_size=20), st.data())
def test_how_the_stream_is_cut_up_changes_nothing(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"ready\n" + b"\n".join(lines) + b"\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, whole_error = hear(stream)
    cut, cut_error = hear(*pieces)
    assert cut == whole
    assert str(cut_error) == str(whole_error)


@given(st.binary(max_size=300))
def test_any_stream_is_heard_or_refused(stream: bytes) -> None:
    hear(stream)
    hear(b"ready\n", stream)


@given(st.lists(st.integers(0, 2**63 - 1), max_size=10))
def test_ids_survive_the_wire(ids: list[int]) -> None:
    lines = render_ids(ids).split(b"\n")
    assert lines.pop() == b""
    assert [parse_id(line) for line in lines] == ids


@pytest.mark.parametrize("line", [b"", b"-1", b"+1", b"1 ", b" 1", b"1\r", b"0x1", b"1_0", b"1" * 20, b"\xd9\xa1"])
def test_what_is_not_an_id_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        parse_id(line)
