"""Hostile text made fit for a column, a log line, a terminal."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.model.text import REASON_LIMIT, ascii_json, cut, decoded, one_line, storable, visible

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


@given(any_text)
def test_nothing_that_is_shown_drives_a_terminal_or_ends_a_line(text: str) -> None:
    shown = visible(text)
    assert shown.splitlines() in ([], [shown])
    assert {unicodedata.category(sign) for sign in shown} & {"Cc", "Cs", "Zl", "Zp"} == set()
    # Format characters turn lines round; two of them only join letters.
    assert {sign for sign in shown if unicodedata.category(sign) == "Cf"} <= {"\u200c", "\u200d"}
    shown.encode()
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Grüße, 漢字 \N{GRINNING FACE}", "Grüße, 漢字 \N{GRINNING FACE}"),
        ("\x1b[2J\x9b\x7f\x07", r"\x1b[2J\x9b\x7f\x07"),
        ("a\tb\r\nc\0", r"a\tb\r\nc\x00"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}cod.exe", r"\u202ecod.exe"),
        ("\N{LINE SEPARATOR}\N{ZERO WIDTH NO-BREAK SPACE}\ud800", r"\u2028\ufeff\ud800"),
        ("no\N{NO-BREAK SPACE}break\N{IDEOGRAPHIC SPACE}", "no\N{NO-BREAK SPACE}break\N{IDEOGRAPHIC SPACE}"),
    ],
)
def test_what_is_no_plain_sign_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.dictionaries(any_text, any_text))
def test_json_is_made_ascii_without_a_change_of_meaning(value: dict[str, str]) -> None:
    made = ascii_json(json.dumps(value, ensure_ascii=False))
    assert made.isascii()
    assert "\x7f" not in made
    assert not any(ord(sign) < 32 for sign in made)
    if all(storable(text) == text.replace("\0", "") for pair in value.items() for text in pair):
        assert json.loads(made) == value


def test_a_lone_surrogate_is_replaced_in_json() -> None:
    assert ascii_json('"\ud800\U0010ffff"') == r'"\ufffd\udbff\udfff"'
