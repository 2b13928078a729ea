"""Text to value and back."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pepsi.config import values

NUMBERS = st.floats(min_value=0.001, max_value=1e9, allow_subnormal=False)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("300", 300.0),
        ("0", 0.0),
        ("5 s", 5.0),
        ("5s", 5.0),
        ("2 min", 120.0),
        ("120 h", 432_000.0),
        ("1 d", 86_400.0),
        ("250 ms", 0.25),
        ("1.5 h", 5400.0),
    ],
)
def test_a_duration_is_read_in_its_unit(text: str, seconds: float) -> None:
    assert values.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1", "1 m", "1 hour", "1 h 5 min", "1e3", "inf", "nan", "٣", "9" * 400])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a duration such as 300, 250 ms"):
        values.parse_duration(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [("512", 512), ("10 kB", 10_000), ("64 MiB", 67_108_864), ("1GiB", 2**30), ("3 KiB", 3072), ("0 B", 0)],
)
def test_a_size_is_read_in_its_unit(text: str, count: int) -> None:
    assert values.parse_size(text) == count


@pytest.mark.parametrize("text", ["", "10 KB", "10 kb", "1.5 MiB", "-1", "64 M", "MiB"])
def test_what_is_no_size_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a size such as 512"):
        values.parse_size(text)


@pytest.mark.parametrize("text", ["Yes", "true", "on", "1", ""])
def test_only_yes_and_no_are_booleans(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected yes or no$"):
        values.parse_boolean(text)


@pytest.mark.parametrize("text", ["", "-", "4k", "1.0", "0x10", "1_000", "٣", "9" * 5000])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a whole number$"):
        values.parse_integer(text)


@pytest.mark.parametrize("text", ["if", "relay-to-internet", "a.b_c-1", "0", "x" * 50])
def test_a_stage_has_a_plain_name(text: str) -> None:
    assert values.parse_stage(text) == text


@pytest.mark.parametrize("text", ["", "If", "-a", "a b", "a/b", "ä", "x" * 51, "a\n"])
def test_a_name_that_the_database_could_cut_or_a_person_misread_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected the name of a stage"):
        values.parse_stage(text)


@pytest.mark.parametrize("text", ["localhost", "mail.example.org", "xn--bcher-kva.example", "7.example"])
def test_a_host_name_is_letters_digits_and_hyphens(text: str) -> None:
    assert values.parse_host(text) == text


@pytest.mark.parametrize("text", ["", "foo_bar", "-a.example", "a..example", "a.example.", "x" * 64, "a" + ".a" * 127])
def test_what_no_greeting_may_say_is_no_host_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a host name"):
        values.parse_host(text)


@pytest.mark.parametrize("text", ["postmaster", "<a@b.example>", "a b@c.example", "@c.example", "a@", "a@b@c"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a mail address"):
        values.parse_address(text)


def test_endpoints_are_words_of_which_there_is_at_least_one() -> None:
    assert values.parse_endpoints("tcp:25  tcp6:25:interface=\\:\\:") == ("tcp:25", "tcp6:25:interface=\\:\\:")
    for wrong in ("", "25", "tcp:25 localhost"):
        with pytest.raises(ValueError, match=r"^expected an endpoint such as tcp:25"):
            values.parse_endpoints(wrong)


def test_a_command_has_a_program_and_closed_quotes() -> None:
    assert values.parse_command("rspamc --mime 'a b'") == "rspamc --mime 'a b'"
    with pytest.raises(ValueError, match=r"^expected a command line: no closing quotation$"):
        values.parse_command("rspamc 'a")
    for wrong in ("", "''"):
        with pytest.raises(ValueError, match=r"^expected a program"):
            values.parse_command(wrong)


@pytest.mark.parametrize("text", ["embedded", "postgresql://host/pepsi", "postgres://", "host=/run dbname=pepsi"])
def test_a_dsn_is_pairs_or_a_url_or_embedded(text: str) -> None:
    assert values.parse_dsn(text) == text


@pytest.mark.parametrize("text", ["", "pepsi", "mysql://host/pepsi", "Embedded"])
def test_what_libpq_would_take_for_nothing_is_no_dsn(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected embedded, a URL"):
        values.parse_dsn(text)


def test_words_may_be_none_and_text_may_not() -> None:
    assert values.parse_words("") == ()
    assert values.parse_path("a b") == Path("a b")
    for parse in (values.parse_text, values.parse_path):
        with pytest.raises(ValueError, match=r"^expected some text$"):
            parse("")


@given(NUMBERS)
@example(300.0)
@example(0.25)
@example(0.001)
def test_a_rendered_duration_is_read_back(seconds: float) -> None:
    assert values.parse_duration(values.render_duration(seconds)) == seconds


@given(st.integers(min_value=0, max_value=10**17))
def test_a_rendered_size_is_read_back(count: int) -> None:
    assert values.parse_size(values.render_size(count)) == count


@given(st.one_of(NUMBERS, NUMBERS.map(lambda number: -number), st.just(0.0)))
def test_a_rendered_number_is_read_back(number: float) -> None:
    assert values.parse_number(values.render_number(number)) == number


@given(st.integers(min_value=-(10**18) + 1, max_value=10**18 - 1))
def test_a_rendered_integer_is_read_back(number: int) -> None:
    assert values.parse_integer(values.render_text(number)) == number


@given(st.booleans())
def test_a_rendered_boolean_is_read_back(value: bool) -> None:
    assert values.parse_boolean(values.render_boolean(value)) == value


@given(st.lists(st.from_regex(r"[!-~]{1,20}", fullmatch=True)).map(tuple))
def test_rendered_words_are_read_back(words: tuple[str, ...]) -> None:
    assert values.parse_words(values.render_words(words)) == words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (300, "5 min"), (90, "90 s"), (432_000, "5 d"), (0.25, "250 ms"), (3600, "1 h"), (0.0625, "0.0625 s")],
)
def test_a_duration_is_rendered_as_a_person_would_write_it(seconds: float, text: str) -> None:
    assert values.render_duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (67_108_864, "64 MiB"), (10_000, "10 kB"), (1025, "1025 B"), (2**30, "1 GiB")]
)
def test_a_size_is_rendered_as_a_person_would_write_it(count: int, text: str) -> None:
    assert values.render_size(count) == text
