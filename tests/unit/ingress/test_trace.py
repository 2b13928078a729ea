"""The Received field: well-formed whatever a client calls itself."""

import email
import re

from hypothesis import given
from hypothesis import strategies as st

from pepsi.ingress.trace import HOPS_WITHIN, count_hops, protocol_name, received_field


def field(hello: str = "client.example", origin: str = "[192.0.2.1]", recipient: str = "") -> bytes:
    return received_field(
        hello=hello,
        origin=origin,
        hostname="mx.example.org",
        protocol="ESMTPS",
        trace_id="abc123",
        recipient=recipient,
        now=1_800_000_000.7,
    )


def test_the_field_says_who_when_and_how():
    assert field(recipient="a@b") == (
        b"Received: from client.example ([192.0.2.1])\r\n"
        b"\tby mx.example.org with ESMTPS id abc123\r\n"
        b"\tfor <a@b>;\r\n"
        b"\tFri, 15 Jan 2027 08:00:00 +0000\r\n"
    )


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_hostile_name_cannot_leave_its_place(hello: str, origin: str):
    made = field(hello, origin)
    assert re.fullmatch(rb"(?:[\t -~]+\r\n)+", made)
    assert max(len(line) for line in made.split(b"\r\n")) < 998
    parsed = email.message_from_bytes(made + b"\r\n")
    assert parsed.keys() == ["Received"] and not parsed.get_payload()


def test_the_word_for_how_a_message_came_is_that_of_the_registry():
    def name(**facts: bool) -> str:
        return protocol_name(**{"extended": True, "tls": False, "authenticated": False, "utf8": False} | facts)

    assert name(extended=False, tls=True) == "SMTP"
    assert name() == "ESMTP"
    assert name(tls=True) == "ESMTPS"
    assert name(authenticated=True) == "ESMTPA"
    assert name(tls=True, authenticated=True) == "ESMTPSA"
    assert name(tls=True, authenticated=True, utf8=True) == "UTF8SMTPSA"


def test_hops_are_counted_in_the_header_only():
    message = b"Received: a\r\nreceived: b\r\nX: y\r\nRECEIVED: c\r\n\r\nReceived: d\r\nReceived: e\r\n"
    assert count_hops(message) == 3
    assert count_hops(b"\r\n" + message) == 0
    assert count_hops(b"Received: a\r\n") == 1
    assert count_hops(b"X-Received: a\r\n X: Received: b\r\n\r\n") == 0


def test_a_header_without_end_is_searched_to_a_bound_only():
    assert count_hops(b"Received: a\r\n" + b"x" * HOPS_WITHIN + b"\r\nReceived: b\r\n") == 1
