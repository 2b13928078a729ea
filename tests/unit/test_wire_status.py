"""One status line: from bytes to a value and back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pepsi.errors import WireError
from pepsi.model.status import OK, Fused, Status
from pepsi.model.text import REASON_LIMIT, one_line
from pepsi.wire.status import parse, render

codes = st.integers(0, 255)
stages = st.from_regex(r"[a-z][a-z0-9-]{0,30}", fullmatch=True)
reports = st.lists(st.builds(Fused, stages, st.integers(0, 10**9)), min_size=1, max_size=64).map(tuple)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"0", Status(code=0)),
        (b"0 ", Status(code=0)),
        (b"255", Status(code=255)),
        (b'0 [["srs",120],["if",14]]', Status(code=0, report=(Fused("srs", 120), Fused("if", 14)))),
        (b'1 [["srs",120]]', Status(code=1, report=(Fused("srs", 120),))),
        (b"74 connection lost", Status(code=74, reason="connection lost")),
        (b"1 [not a report", Status(code=1, reason="[not a report")),
        (b"1 two\rlines\x1b[31m", Status(code=1, reason="two lines [31m")),
        (b"1 \xff\xfe", Status(code=1, reason="\N{REPLACEMENT CHARACTER}" * 2)),
    ],
)
def test_a_status_line_means(line: bytes, status: Status) -> None:
    assert parse(line) == status


@pytest.mark.parametrize(
    "line",
    [b"", b" 0", b"00", b"01", b"256", b"999", b"1000", b"-1", b"+1", b"0x1", b"ok", b"ready", b"0\t[]", b"\xd9\xa1"],
)
def test_a_status_that_cannot_be_read_is_an_error(line: bytes) -> None:
    with pytest.raises(WireError):
        parse(line)


@pytest.mark.parametrize(
    "report",
    [
        b"done",
        b"[",
        b"{}",
        b"[1]",
        b'[["srs"]]',
        b'[["srs",1,2]]',
        b'[["srs",-1]]',
        b'[["srs",1.5]]',
        b'[["srs",true]]',
        b"[[1,1]]",
        b'[["srs\\u0000",1]]',
        b'[["\\ud800",1]]',
        b'[["two\\nlines",1]]',
        b'[["",1]]',
        b'[["srs",1000000000000000000000]]',
        b"[" * 10_000,
        b"[" + b",".join([b'["s",1]'] * 65) + b"]",
        b"[\x00]\x00",
        b"[\xff]",
    ],
)
def test_a_report_that_cannot_be_read_costs_the_report_and_not_the_status(report: bytes) -> None:
    status = parse(b"0 " + report)
    assert (status.code, status.report) == (OK, ())
    assert "dropped" in status.warning


@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda tail: b"0 [[" + tail))
@example(b"1 " + b"9" * 5000)
@example(b'0 [["a",' + b"9" * 5000 + b"]]")
def test_any_line_is_read_or_refused_with_a_wire_error(line: bytes) -> None:
    try:
        status = parse(line)
    except WireError:
        return
    assert 0 <= status.code <= 255
    assert status.reason == one_line(status.reason)
    assert all(part.microseconds >= 0 and part.stage == one_line(part.stage) for part in status.report)


@given(codes, reports)
def test_a_report_survives_the_wire(code: int, report: tuple[Fused, ...]) -> None:
    status = Status(code=code, report=report)
    assert parse(render(status)) == status


@given(st.integers(1, 255), st.text(max_size=300))
def test_a_reason_survives_the_wire_as_one_clean_line(code: int, reason: str) -> None:
    line = render(Status(code=code, reason=reason))
    assert b"\n" not in line
    heard = parse(line)
    assert heard.code == code
    assert heard.report or heard.reason == one_line(reason)


def test_a_reason_is_cut_to_its_limit() -> None:
    heard = parse(b"1 " + "ä".encode() * REASON_LIMIT)
    assert heard.reason == "ä" * (REASON_LIMIT // 2)


def test_success_carries_no_reason() -> None:
    assert render(Status(code=OK, reason="all is well")) == b"0"
