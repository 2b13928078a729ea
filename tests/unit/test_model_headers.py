"""Header fields for showing: decoded where that can be done, and never an exception."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.model.headers import FIELD_LIMIT, raw_field, shown_field

# Fields that made the parser of the standard library raise, or were reported to.
REAL_FIELDS = [
    b'To: "',
    b"To: (c):",
    b"Cc: (x): a@b.com;",
    b"Cc: a@b.com,",
    b"Cc: , ,",
    b"From: .a@b.com",
    b"From: a.@b.com",
    b"From: @b",
    b"From: <>",
    b"From:",
    b"Message-ID: <[b378df...@microsoft.com]>",
    b"Message-ID: <>",
    b"Content-Type: text/plain; name*",
    b"Content-Type: text/plain; name*0*",
    b"Content-Disposition: attachment; filename*=",
    b"To: Foo:;",
    b"To: :;",
    b'From: "a" <b',
    b"From: =?x?Q?",
    b"Date: foo",
    b"MIME-Version: 1.0 (",
    b"Content-Transfer-Encoding:",
]


@pytest.mark.parametrize("line", REAL_FIELDS)
def test_a_field_that_breaks_other_parsers_is_shown_as_it_is(line: bytes) -> None:
    name, _, value = line.partition(b":")
    assert shown_field(line + b"\r\n\r\n", name) == value.decode().strip()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b" =?utf-8?q?J=C3=B6rg?= <j@example.org>", "Jörg <j@example.org>"),
        (b" =?iso-8859-1?B?5Q==?=\r\n =?iso-8859-1?b?5Q==?= x", "åå x"),
        (b" =?UTF-8*de?Q?gr=C3=BC=C3=9Fe?=", "grüße"),
        (b" =?utf-8?q?=F0=9F?= =?utf-8?q?=98=80?=", "😀"),
        (" grüße".encode(), "grüße"),
        (b" gr\xfc\xdfe", "gr\ufffd\ufffde"),
        (b" =?no-such-charset?Q?a?=", "=?no-such-charset?Q?a?="),
        (b" =?zip?B?AAAA?=", "=?zip?B?AAAA?="),
        (b" =?a\0b?Q?a?=", "=?ab?Q?a?="),
        (b" =?utf-8?q?a?= C:\\users \\u0041", "a C:\\users \\u0041"),
        (b" =?utf-8?q?=00=1B[31m=0D=0Ax?=", "[31m x"),
        (b"\r\n \r\n\tlate", "late"),
    ],
)
def test_a_field_is_shown_decoded_on_one_line(value: bytes, shown: str) -> None:
    assert shown_field(b"X: y\r\nSubject:" + value + b"\r\nZ: z\r\n\r\n", b"subject") == shown


def test_the_first_of_two_fields_counts() -> None:
    assert shown_field(b"From: a\r\nFROM: b\r\n\r\n", b"From") == "a"


def test_a_name_inside_another_field_is_no_field() -> None:
    assert raw_field(b"X-From: a\r\nX:\r\n From: b\r\n\r\n", b"From") is None
    assert shown_field(b"", b"From") == ""


def test_white_space_before_the_colon_is_let_pass() -> None:
    assert shown_field(b"Subject \t: a\r\n\r\n", b"Subject") == "a"


def test_a_field_is_cut_to_the_bound() -> None:
    shown = shown_field(b"Subject: " + "ü".encode() * 5000, b"Subject")
    assert shown == "ü" * (FIELD_LIMIT // 2)


@given(st.binary())
def test_no_bytes_make_it_raise(block: bytes) -> None:
    assert shown_field(block, b"Subject") == ""


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=20),
            st.sampled_from(
                [
                    b"=?",
                    b"?=",
                    b"?Q?",
                    b"?B?",
                    b"=?utf-8?Q?",
                    b"=?utf-7?b?",
                    b"=?idna?q?",
                    b"*",
                    b"\r\n ",
                    b"=00",
                    b"\\u",
                ]
            ),
        )
    ).map(b"".join)
)
def test_whatever_stands_in_a_field_comes_out_storable(value: bytes) -> None:
    shown = shown_field(b"Subject:" + value.replace(b"\n", b"\n "), b"subject")
    assert len(shown.encode()) <= FIELD_LIMIT
    assert "\0" not in shown
    assert json.loads(json.dumps(shown)) == shown
