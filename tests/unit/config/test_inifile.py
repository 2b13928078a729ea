"""Reading the text of a configuration file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.config.inifile import read


def sections(data: bytes | str) -> dict[str, dict[str, tuple[str, int | None]]]:
    found, problems = read(data.encode() if isinstance(data, str) else data, "pepsi.conf", Path("/etc/pepsi"))
    assert [str(problem) for problem in problems] == []
    return {
        name: {key: (entry.value, entry.line) for key, entry in section.entries.items()}
        for name, section in found.items()
    }


def problems(data: bytes | str) -> list[str]:
    _, found = read(data.encode() if isinstance(data, str) else data, "pepsi.conf", Path("/etc/pepsi"))
    return [str(problem) for problem in found]


def test_every_key_knows_its_line() -> None:
    text = "# hello\n\n[pepsi]\nHOSTNAME = mail.example.org\n\n[stage-if]\nPROGRAM=pepsi-stage-if\nN = 1\n"
    assert sections(text) == {
        "pepsi": {"HOSTNAME": ("mail.example.org", 4)},
        "stage-if": {"PROGRAM": ("pepsi-stage-if", 7), "N": ("1", 8)},
    }


def test_a_section_knows_its_line_and_where_relative_paths_start() -> None:
    found, _ = read(b"\n[pepsi]\n", "pepsi.conf", Path("/etc/pepsi"))
    assert (found["pepsi"].line, found["pepsi"].directory) == (2, Path("/etc/pepsi"))


def test_a_comment_begins_at_the_margin_or_after_white_space() -> None:
    text = "[a] # one\n# two\nX = 1 # three\nY = a#b\nZ = 4\t#5\n  # six\nW = #7\n"
    assert sections(text) == {"a": {"X": ("1", 3), "Y": ("a#b", 4), "Z": ("4", 5), "W": ("", 7)}}


def test_a_backslash_keeps_a_hash_from_beginning_a_comment() -> None:
    assert sections("[a]\nX = case \\#12 \\#13 # no\nY = \\#\nZ = a\\#b\n") == {
        "a": {"X": ("case #12 #13", 2), "Y": ("#", 3), "Z": ("a\\#b", 4)}
    }


def test_an_indented_line_goes_on_with_the_value_above_it() -> None:
    text = "[a]\nX = one\n  two # and\n\n# comment\n\tthree\nY =\n  four == five\n"
    assert sections(text) == {"a": {"X": ("one two three", 2), "Y": ("four == five", 7)}}


def test_a_value_may_hold_any_sign() -> None:
    assert sections('[a]\nX = a = "b" ; [c] : %(d)s ${e} ü\n') == {"a": {"X": ('a = "b" ; [c] : %(d)s ${e} ü', 2)}}


@pytest.mark.parametrize("change", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data])
def test_line_ends_and_marks_of_other_systems_change_nothing(change: object) -> None:
    data = b"[a]\nX = 1 # one\n  2\n\n[b]\nY = 3\n"
    assert callable(change)
    assert sections(change(data)) == sections(data) == {"a": {"X": ("1 2", 2)}, "b": {"Y": ("3", 6)}}


def test_an_empty_file_is_no_error() -> None:
    assert sections("") == {}


def test_a_key_or_section_that_stands_twice_is_an_error_that_names_both_lines() -> None:
    assert problems("[a]\nX = 1\nX = 2\n[b]\n[a]\nX = 3\n") == [
        "pepsi.conf:3: [a] X = 2: this key stands at line 2 already; remove one of them",
        "pepsi.conf:5: [a]: this section stands at line 1 already; join the two",
    ]


def test_the_first_of_two_keys_and_sections_counts() -> None:
    found, _ = read(b"[a]\nX = 1\nX = 2\n  3\n[a]\nX = 3\nY = 4\n", "pepsi.conf", Path())
    assert {key: entry.value for key, entry in found["a"].entries.items()} == {"X": "1"}


def test_keys_are_upper_case_and_the_error_says_which() -> None:
    assert problems("[a]\nNext-Stage = b\nmax_runtime = 3\n") == [
        "pepsi.conf:2: [a] Next-Stage = b: keys are written in upper case; write NEXT_STAGE",
        "pepsi.conf:3: [a] max_runtime = 3: keys are written in upper case; write MAX_RUNTIME",
    ]


def test_a_line_that_is_nothing_is_an_error_and_the_next_is_read_all_the_same() -> None:
    assert problems("[a]\nX\n  y\n; z\nX: 1\n= 2\n1X = 3\nx = 4\n") == [
        "pepsi.conf:2: [a] X: expected KEY = value",
        "pepsi.conf:4: [a] ; z: expected KEY = value; comments begin with #",
        "pepsi.conf:5: [a] X: 1: expected KEY = value",
        "pepsi.conf:6: [a] = 2: expected KEY = value",
        "pepsi.conf:7: [a] 1X = 3: expected KEY = value",
        "pepsi.conf:8: [a] x = 4: keys are written in upper case; write X",
    ]


def test_a_key_before_any_section_is_an_error() -> None:
    assert problems("X = 1\n[a]\nX = 1\n") == ["pepsi.conf:1: X = 1: this key stands before the first [section]"]


@pytest.mark.parametrize(
    ("heading", "hint"), [("[]", ""), ("[Stage-If]", "; write [stage-if]"), ("[a", ""), ("[a] b", ""), ("[a b]", "")]
)
def test_a_heading_that_is_none_is_an_error_and_hides_no_error_below_it(heading: str, hint: str) -> None:
    assert problems(f"{heading}\nX = 1\nY\n") == [
        f"pepsi.conf:1: {heading}: expected a heading such as [pepsi] or [stage-if]{hint}",
        "pepsi.conf:3: Y: expected KEY = value",
    ]


def test_an_indented_key_or_heading_is_not_swallowed_by_the_value_above_it() -> None:
    expected = "an indented line goes on with the value above it, and this looks like a line of its own"
    assert problems("[a]\nX = 1\n  Y = 2\n  [b]\n  # [c]\n  [d] e\n") == [
        f"pepsi.conf:3: [a] Y = 2: {expected}; begin it at the margin",
        f"pepsi.conf:4: [a] [b]: {expected}; begin it at the margin",
    ]


def test_an_indented_line_without_a_value_above_it_is_an_error() -> None:
    assert problems("  x\n[a]\n  y\n") == [
        "pepsi.conf:1: x: an indented line goes on with the value above it, and there is none",
    ]


def test_bytes_that_are_no_text_are_reported_with_their_line() -> None:
    assert problems(b"[a]\nX = caf\xe9\nY = \0\nZ = \x1b[2J\n") == [
        "pepsi.conf:2: [a]: the byte 0xe9 is not UTF-8; save the file as UTF-8",
        "pepsi.conf:3: [a]: NUL cannot stand in a configuration file",
        "pepsi.conf:4: [a]: the control character 0x1b cannot stand in a configuration file",
    ]


def test_a_file_in_utf_16_is_called_that() -> None:
    assert problems("[a]\n".encode("utf-16")) == ["pepsi.conf:1: this is UTF-16; save the file as UTF-8"]


def test_a_line_that_may_hold_a_secret_is_not_shown() -> None:
    assert problems("[a]\nPASSWORD hunter2\npassword = hunter2\n") == [
        "pepsi.conf:2: [a] (not shown): expected KEY = value",
        "pepsi.conf:3: [a] password = (not shown): keys are written in upper case; write PASSWORD",
    ]


def test_a_sign_that_nobody_can_see_is_made_visible_where_it_is_in_the_way() -> None:
    assert problems("[a]\nX\N{SOFT HYPHEN}\N{NO-BREAK SPACE}Y\N{RIGHT-TO-LEFT OVERRIDE} = 1\n") == [
        "pepsi.conf:2: [a] X\\xad\\xa0Y\\u202e = 1: expected KEY = value"
    ]


@given(st.one_of(st.binary(), st.text().map(str.encode), st.text(alphabet="[]aX=# \\\n\t").map(str.encode)))
def test_nothing_makes_the_reader_fall_over(data: bytes) -> None:
    found, wrong = read(data, "pepsi.conf", Path())
    for section in found.values():
        for entry in section.entries.values():
            assert entry.value == entry.value.strip()
            assert "\n" not in entry.value
    for problem in wrong:
        assert problem.line is not None
        assert 1 <= problem.line <= data.count(b"\n") + 1
        assert str(problem).isprintable()


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True),
        st.dictionaries(
            st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True), st.from_regex(r"[!-\"$-~]{1,20}", fullmatch=True)
        ),
    )
)
def test_what_was_written_is_read(written: dict[str, dict[str, str]]) -> None:
    lines = []
    for name, values in written.items():
        lines += [f"[{name}]", *(f"{key} = {value}" for key, value in values.items())]
    expected = {
        name: {
            key: (value, lines.index(f"{key} = {value}", lines.index(f"[{name}]")) + 1) for key, value in values.items()
        }
        for name, values in written.items()
    }
    assert sections("\n".join(lines)) == expected
