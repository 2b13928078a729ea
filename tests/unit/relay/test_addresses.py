"""Addresses: none can become anything but an argument."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.relay.addresses import ADDRESS_LIMIT, is_sendable, mailbox_key, quoted, split_address, unquoted


@pytest.mark.parametrize(
    "address",
    [
        "a@example.org",
        '"a b"@example.org',
        '"a\\"b"@example.org',
        '"a>b"@example.org',
        '"a@b"@example.org',
        "postmaster",
        "a@[192.0.2.1]",
        "j\u00f6e@ex\u00e4mple.org",
        "-f@example.org",
        "|cat@example.org",
    ],
)
def test_an_address_that_can_stand_in_a_path_is_sendable(address: str):
    assert is_sendable(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "a@b>\r\nDATA",
        "a@b\r\nRCPT TO:<c@d>",
        "a\n@b",
        "a\r@b",
        "a\0@b",
        "a b@c",
        "a@b> NOTIFY=NEVER",
        "<a@b>",
        '"a@b',
        '"a\\',
        '"a\nb"@c',
        "a\x85@b",
        "a\x7f@b",
        "\ud800@b",
        "a" * ADDRESS_LIMIT + "@b",
    ],
)
def test_an_address_that_could_end_the_command_early_is_not(address: str):
    assert not is_sendable(address)


@given(st.text())
def test_a_sendable_address_never_holds_a_line_end(address: str):
    if is_sendable(address):
        assert len(f"<{address}>".splitlines()) == 1 or "\u2028" in address or "\u2029" in address
        assert not {"\r", "\n", "\0"} & set(address)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1))
def test_a_quoted_local_part_is_the_same_mailbox(local: str):
    assert unquoted(quoted(unquoted(local))) == unquoted(local)


def test_the_last_at_sign_parts_an_address():
    assert split_address('"a@b"@example.org') == ('"a@b"', "example.org")
    assert split_address("postmaster") == ("postmaster", "")


def test_one_mailbox_written_in_two_ways_has_one_key():
    assert mailbox_key("a@EXAMPLE.org") == mailbox_key('"a"@example.org') == mailbox_key("a@example.org")
    assert mailbox_key("A@example.org") != mailbox_key("a@example.org")
