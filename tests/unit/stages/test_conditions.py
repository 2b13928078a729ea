"""What the condition language promises to whoever writes a pipeline, and to whoever runs one."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.model.message import Message
from pepsi.stages.condition.terms import FIELDS
from pepsi.stages.condition.verdicts import fits
from pepsi.stages.conditions import NESTING_LIMIT, ConditionError, parse


def message(**fields: Any) -> Message:
    return Message(
        **{
            "workqueue_id": 1,
            "claim": 1 << 40,
            "stage": "if",
            "received_at": datetime(2026, 1, 1, tzinfo=UTC),
            "age": 0.0,
            "mail_from": "Anna@Example.ORG",
            "recipients": ("bob@example.net", "carl@lists.example.com"),
            "header_from": "Anna <anna@example.org>",
            "subject": "Invoice 17 [x]",
            "peer": "192.0.2.7",
            "size": 5000,
            **fields,
        }
    )


def holds(text: str, **fields: Any) -> bool:
    return parse(text).holds(message(**fields))


@pytest.mark.parametrize(
    "text",
    [
        'mail_from == "anna@example.org"',
        'sender_domain == "example.org"',
        'sender_domain in ["example.org", "example.net"]',
        'sender_domain not in ["example.com"]',
        'mail_from matches "*@example.???"',
        'sender_domain matches ["*.example.org", "example.org"]',
        'mail_from not matches "*@example.com"',
        'subject contains "invoice"',
        "subject contains '[X]'",
        'subject matches "invoice ?? [x]"',
        'not subject contains "offer"',
        'any recipients matches "*@lists.*"',
        'all recipient_domains matches "*example.*"',
        'any recipient_domains in ["example.net"]',
        'recipients contains "BOB@example.net"',
        '"bob@example.net" in recipients',
        "size > 4 kB and size<=5000 and size >= 5000 and size < 64 MiB and size != 4999",
        "5000 == size",
        'peer in ["192.0.2.0/24", "2001:db8::1"]',
        'peer not in ["198.51.100.0/24"]',
        'auth_login == ""',
        "not auth_login",
        'header_from != ""',
        'false or (true and not (size > 1 MiB or subject == ""))',
        'true or nothing_is_evaluated == "x"'.replace("nothing_is_evaluated", "subject"),
    ],
)
def test_each_of_these_holds_for_a_plain_message(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        'mail_from == "anna@example.or"',
        'any recipients == "dora@example.org"',
        'all recipients matches "*@example.net"',
        'recipients contains "example.net"',
        "size > 5000",
        'peer in ["192.0.3.0/24"]',
        'subject contains "*"',
        'subject matches "invoice"',
    ],
)
def test_none_of_these_holds_for_a_plain_message(text: str) -> None:
    assert not holds(text)


def test_and_binds_closer_than_or_and_not_closest() -> None:
    assert holds("true or true and false")
    assert not holds("not true or false and true")
    assert not holds("not false and false")


def test_a_null_sender_has_an_empty_address_and_domain() -> None:
    assert holds('mail_from == "" and sender_domain == "" and not mail_from', mail_from="")


def test_an_address_is_cut_at_its_last_at_sign() -> None:
    assert holds('sender_domain == "example.org"', mail_from='"a@b"@example.org')


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("state.seen", {"seen": True}),
        ("not state.seen", {}),
        ("not state.seen", {"seen": False}),
        ("state.spam.score >= 5.5", {"spam": {"score": 6}}),
        ("state.spam.score > -1.5", {"spam": {"score": -1}}),
        ('state.spf == "PASS"', {"spf": "pass"}),
        ('state."odd key" == 1', {"odd key": 1}),
        ('state.tags contains "x"', {"tags": ["x", 1]}),
        ("any state.tags == 1", {"tags": ["x", 1]}),
        ('state.spf in ["pass", "none"]', {"spf": "none"}),
        ('sender_domain in state."local domains"', {"local domains": ["example.org"]}),
        ("state.local_origin == true", {"local_origin": True}),
    ],
)
def test_state_is_looked_into(text: str, state: Mapping[str, Any]) -> None:
    assert holds(text, state=state)


@pytest.mark.parametrize("test", ["== 1", "< 1", ">= 0", 'contains "x"', 'matches "*"', "in [1]", "== false"])
def test_what_is_not_there_passes_no_test(test: str) -> None:
    assert not holds(f"state.a.b {test}")
    assert not holds(f"any state.a.b {test}")
    assert not holds(f"all state.a.b {test}")


def test_true_is_not_the_number_one() -> None:
    assert not holds("state.a == 1", state={"a": True})
    assert not holds("state.a == true", state={"a": 1})


def test_a_peer_that_came_over_ipv6_as_ipv4_is_in_its_ipv4_network() -> None:
    assert holds('peer in ["192.0.2.0/24"]', peer="::ffff:192.0.2.9")


def test_a_message_without_a_peer_is_in_no_network() -> None:
    assert not holds('peer in ["0.0.0.0/0", "::/0"]', peer=None)


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("", 1, "expected a field"),
        ("sise > 1", 1, "no field is called 'sise'"),
        ("size >", 7, "not the end"),
        ("size > 1 MB MB", 13, "expected 'and', 'or' or the end"),
        ("size > 1 Mb", 10, "'Mb' is no unit"),
        ('size == "x"', 6, "can never tell"),
        ("subject > 3", 9, "compares numbers"),
        ('recipients == "x"', 12, "write 'any recipients == ...'"),
        ('any subject == "x"', 5, "needs a list"),
        ("any recipients", 15, "expected a test"),
        ("any recipients == 5", 16, "can never tell"),
        ("subject == recipients", 12, "expected one value"),
        ("subject in 'x'", 12, "expected a list"),
        ("subject matches subject", 17, "expected a pattern"),
        ("subject matches [1]", 17, "expected a pattern"),
        ("size matches '1'", 6, "looks at texts"),
        ("size contains 1", 6, "looks into texts"),
        ("subject contains 1", 18, "expected a text"),
        ("recipients contains ['x']", 21, "expected a text or a number"),
        ("subject == 'abc", 12, "not closed"),
        (r"subject == 'a\b'", 14, "backslash"),
        ("subject = 'a'", 9, "means nothing here"),
        ("(size > 1", 10, "')' for the '(' of column 1"),
        ("subject in ['a' 'b']", 17, "']' for the '['"),
        ("subject in [subject]", 13, "expected a text, a number or ']'"),
        ("subject not == 'a'", 13, "after 'not'"),
        ("'x'", 4, "alone says nothing"),
        ("state", 6, "expected '.' and a key"),
        ("state.[", 7, "expected a key"),
        ("peer in ['192.0.2.1/24']", 9, "host bits set"),
        ("peer in ['here']", 9, "addresses and networks"),
        ("size > 1234567890123456789", 8, "at most 18 digits"),
        ("size > 1.1234567890123456789", 8, "at most 18 digits"),
        ("true " + "or true " * 2000, 8193, "at most 8192 characters"),
        ("(" * (NESTING_LIMIT + 1), NESTING_LIMIT + 1, "deep"),
        ("not " * (NESTING_LIMIT + 1) + "true", 4 * NESTING_LIMIT + 1, "deep"),
    ],
)
def test_an_error_names_the_column_and_the_mend(text: str, column: int, part: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"column {column}: ")
    assert part in str(caught.value)


def test_a_deep_condition_within_the_limit_can_be_read_and_asked() -> None:
    assert holds("(" * NESTING_LIMIT + "true" + ")" * NESTING_LIMIT)


def test_a_pattern_of_many_stars_takes_no_exponential_time() -> None:
    assert not fits("a" * 5000, "*a" * 50 + "b")
    assert fits("a" * 5000 + "b", "*a" * 50 + "*b")


def simple_fits(text: str, pattern: str) -> bool:
    """Say by the definition what ``fits`` says in bounded time."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(simple_fits(text[n:], pattern[1:]) for n in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and simple_fits(text[1:], pattern[1:])


@given(st.text("ab*?", max_size=8), st.text("ab*?", max_size=6))
def test_a_pattern_fits_by_its_definition(text: str, pattern: str) -> None:
    assert fits(text, pattern) == simple_fits(text, pattern)


WORDS = st.sampled_from(
    (*FIELDS, "state", ".", "and", "or", "not", "any", "all", "in", "contains", "matches", "true")
) | (
    st.sampled_from(
        ("==", "!=", "<", ">", "<=", ">=", "(", ")", "[", "]", ",", "'a*'", '"b"', "12", "-3", "1.5", "MiB")
    )
    | st.sampled_from(("a-b", "\\", "'", "=", "\0", "\ud800"))
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.text() | st.lists(WORDS, max_size=12).map(" ".join))
def test_any_text_is_a_condition_or_a_condition_error(text: str) -> None:
    try:
        condition = parse(text)
    except ConditionError as error:
        assert 1 <= error.column <= len(text) + 1
    else:
        assert condition.holds(message()) in (True, False)
        assert str(condition) == text


LITERAL = st.sampled_from(["'a*'", '"b"', "12", "-3", "1.5", "1 MiB", "true", "[]", "['a', 1]"])
TERM = st.sampled_from([*FIELDS, "state.a", "state.b.a", "state.a.b"]) | LITERAL
STATEMENT = st.tuples(
    st.sampled_from(["", "any ", "all ", "not "]),
    TERM,
    st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "contains", "matches", "not in", "not contains"]),
    TERM,
).map(lambda parts: f"{parts[0]}{parts[1]} {parts[2]} {parts[3]}")


@given(
    STATEMENT,
    st.dictionaries(st.text("ab", max_size=1), JSON, max_size=3),
    st.text(),
    st.lists(st.text(), max_size=3),
    st.none() | st.text() | st.ip_addresses().map(str),
)
def test_a_condition_that_was_read_never_raises(
    text: str, state: dict[str, Any], anything: str, recipients: list[str], peer: str | None
) -> None:
    try:
        condition = parse(text)
    except ConditionError:
        return
    odd = message(
        state=state,
        mail_from=anything,
        subject=anything,
        header_from=anything,
        recipients=tuple(recipients),
        peer=peer,
        auth_login=peer,
    )
    assert condition.holds(odd) in (True, False)
