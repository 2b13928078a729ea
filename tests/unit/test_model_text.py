"""Hostile text made fit for a column, a log line, a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.model.text import REASON_LIMIT, cut, decoded, one_line, storable

any_text = st.text(st.characters(exclude_categories=()))


@given(any_text)
def test_stored_text_has_no_nul_and_is_valid_utf_8(text: str) -> None:
    kept = storable(text)
    assert "\0" not in kept
    kept.encode("utf-8")
    assert storable(kept) == kept


@given(st.text().filter(lambda text: "\0" not in text))
def test_text_without_faults_is_stored_as_it_is(text: str) -> None:
    assert storable(text) == text


@given(st.binary())
def test_any_bytes_decode_to_storable_text(data: bytes) -> None:
    assert storable(decoded(data)) == decoded(data)


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert decoded(b"caf\xe9 \xc3\xa9\0") == "caf\N{REPLACEMENT CHARACTER} é"


@given(any_text, st.integers(0, 50))
def test_cut_text_keeps_within_its_limit_and_begins_like_the_whole(text: str, limit: int) -> None:
    kept = cut(storable(text), limit)
    assert len(kept.encode()) <= limit
    assert storable(text).startswith(kept)


def test_text_is_cut_at_the_border_of_a_character() -> None:
    assert cut("aé€", 2) == "a"
    assert cut("aé€", 3) == "aé"
    assert cut("aé€", 6) == "aé€"


@given(any_text)
def test_one_line_is_one_printable_bounded_line(text: str) -> None:
    line = one_line(text)
    assert line.splitlines() in ([], [line])
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in line)
    assert len(line.encode()) <= REASON_LIMIT
    assert one_line(line) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\r\nb", "a b"),
        ("  a \t b ", "a b"),
        ("red \x1b[31m", "red [31m"),
        ("next\x85line\N{LINE SEPARATOR}end", "next line end"),
        ("nul\0ular", "nulular"),
    ],
)
def test_control_characters_become_spaces(text: str, line: str) -> None:
    assert one_line(text) == line
