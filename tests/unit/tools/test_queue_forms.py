"""How messages are shown: on a terminal, to programs, as JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from pepsi.tools.desk.table import NARROWEST, fitted, width_of, widths
from pepsi.tools.queue.forms import Document, Form, Lines, States, Table

HOSTILE = [
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\x1b]52;c;aGk=\x07",
    "\x1bP",
    "\x1b[8m",
    "\r5\tfake\tdone",
    "\b" * 20,
    "\v\f\x7f\x85\x9b2J",
    "\N{RIGHT-TO-LEFT OVERRIDE}",
    "\n6\ta",
]
any_text = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(HOSTILE)
rows = st.lists(
    st.tuples(
        st.integers(1, 2**63 - 1),
        any_text,
        st.sampled_from(["pending", "failed"]),
        any_text,
        any_text,
        st.just("2026-11-29T12:00:00.000001Z"),
        st.dictionaries(any_text, any_text, max_size=3).map(lambda state: json.dumps(state, ensure_ascii=False)),
    ),
    max_size=4,
)


def shown(form: Form, *pages: list[tuple[Any, ...]]) -> list[str]:
    return [line for page in pages for line in form.rows(page)] + list(form.end())


def row(number: int, **given: str) -> tuple[Any, ...]:
    values = {"stage": "a", "status": "pending", "mail_from": "a@b", "subject": "s", "state": "{}", **given}
    names = ("stage", "status", "mail_from", "subject")
    return (number, *(values[name] for name in names), "2026-11-29T12:00:00.000001Z", values["state"])


@given(rows)
def test_every_form_shows_a_line_for_each_message_and_no_sign_that_drives_a_terminal(
    page: list[tuple[Any, ...]],
) -> None:
    heading = bool(page)
    forms: list[tuple[Form, int]] = [
        (Lines(), len(page)),
        (States(), len(page)),
        (Table(100, "…", colour=False), len(page) + 1),
        (Document(states_only=False), len(page) + 1),
    ]
    for form, lines in forms:
        said = shown(form, page)
        assert len(said) == (lines if heading or isinstance(form, Lines | States) else 1)
        for line in said:
            assert not any((ord(sign) < 32 and sign != "\t") or 127 <= ord(sign) < 160 for sign in line)
            assert line.splitlines() in ([], [line])
            line.encode()


@given(rows)
def test_lines_for_programs_have_always_the_same_fields(page: list[tuple[Any, ...]]) -> None:
    assert {line.count("\t") for line in shown(Lines(), page)} <= {6}


@given(rows, st.booleans())
def test_json_is_one_ascii_document_over_several_pages(page: list[tuple[Any, ...]], states_only: bool) -> None:
    text = "\n".join(shown(Document(states_only=states_only), page, [], page))
    assert text.isascii()
    found = json.loads(text, parse_constant=pytest.fail)
    assert len(found) == 2 * len(page)
    if not states_only:
        assert [each["workqueue_id"] for each in found] == [each[0] for each in page] * 2


def test_json_keeps_numbers_that_no_float_can_hold() -> None:
    (text, _) = shown(Document(states_only=True), [row(1, state='{"n": 123456789012345678901234567890.5}')])
    assert text == '[{"n": 123456789012345678901234567890.5}'


def test_the_null_sender_is_shown_as_such() -> None:
    assert shown(Lines(), [row(1, mail_from="")]) == ["1\ta\tpending\t2026-11-29T12:00:00Z\t<>\ts\t"]


def test_an_empty_table_says_so() -> None:
    assert shown(Table(80, "…", colour=True), []) == ["no messages"]
    assert shown(Lines(), []) == shown(States(), []) == []
    assert shown(Document(states_only=False), []) == ["[]"]


def test_colour_does_not_count_as_width() -> None:
    page = [row(1, status="failed"), row(2)]
    plain, painted = (shown(Table(80, "…", colour=colour), page) for colour in (False, True))
    assert painted[1] == plain[1].replace("failed ", "\033[31mfailed \033[0m")
    assert painted[2] == plain[2]


@given(rows.filter(bool), st.integers(90, 300))
def test_a_table_is_as_wide_as_the_terminal_at_most(page: list[tuple[Any, ...]], columns: int) -> None:
    for line in shown(Table(columns, "…", colour=False), page):
        assert width_of(line) <= columns


def test_a_wide_letter_takes_two_columns() -> None:
    heading, first, second = shown(Table(120, "…", colour=False), [row(1, mail_from="漢字"), row(2, mail_from="abcd")])
    assert wcswidth(first[: first.index(" s")]) == second.index(" s") == heading.index("SUBJECT") - 1


@given(any_text.filter(str.isprintable), st.integers(3, 30))
def test_a_text_is_cut_to_its_width(text: str, width: int) -> None:
    assert width_of(fitted(text, width, "...")) <= max(width, 3)


def test_the_column_that_takes_most_is_narrowed_first() -> None:
    assert widths([("a" * 50, "b" * 10, "c" * 20)], 60, (0, 1, 2)) == [26, 10, 20]
    assert widths([("a" * 50, "b" * 10, "c" * 20)], 10, (0, 1)) == [NARROWEST, NARROWEST, 20]
