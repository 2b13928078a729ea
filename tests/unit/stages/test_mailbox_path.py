"""Mailbox paths: a stranger's address never leads anywhere but to a name below the directory."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pepsi.config.section import Entry, RawSection, parse_section
from pepsi.stages.deliver_maildir import DeliverMaildirOptions
from pepsi.stages.mailbox_path import MailboxPath

USUAL = MailboxPath(("{domain}", "{local_part}"))


def test_an_address_fills_the_pattern():
    assert USUAL.of("joe@example.org") == ("example.org", "joe")
    assert MailboxPath(("all", "{recipient}", "Mail")).of("joe@example.org") == ("all", "joe@example.org", "Mail")


@pytest.mark.parametrize(
    "recipient", ["joe@example.org", "JOE@Example.ORG", '"joe"@example.org', '"j\\oe"@example.org']
)
def test_one_mailbox_has_one_path_however_it_is_written(recipient: str):
    assert USUAL.of(recipient) == ("example.org", "joe")


@pytest.mark.parametrize(
    ("recipient", "name"),
    [
        ("../../etc/passwd@x", "%2e.%2f..%2fetc%2fpasswd"),
        ("..@x", "%2e."),
        (".@x", "%2e"),
        (".hidden@x", "%2ehidden"),
        ('"a b"@x', "a%20b"),
        ("a%2fb@x", "a%252fb"),
        ("a\0b@x", "a%00b"),
        ("a\nb@x", "a%0ab"),
        ("\u00f6@x", "%c3%b6"),
        ("o\u0308@x", "%c3%b6"),
        ("a:b@x", "a%3ab"),
        ("first.last+tag@x", "first.last+tag"),
    ],
)
def test_what_means_something_in_a_path_is_written_in_digits(recipient: str, name: str):
    assert USUAL.of(recipient) == ("x", name)


@given(st.text())
@example("../x@..")
@example("@")
@example("/@/")
def test_no_address_can_lead_out_of_the_directory(recipient: str):
    for pattern in (USUAL, MailboxPath(("{recipient}",)), MailboxPath((".{local_part}", "{domain}."))):
        for part in pattern.of(recipient) or ():
            assert part not in ("", ".", "..")
            assert "/" not in part and "\0" not in part


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_local_parts_share_a_path_only_if_they_differ_in_case_or_composition(one: str, other: str):
    def folded(text: str) -> str:
        return unicodedata.normalize("NFC", text).lower()

    if '"' in one + other or "@" in one + other or "\\" in one + other:
        return
    if any("\ud800" <= character <= "\udfff" for character in one + other):
        return
    assert (USUAL.of(f"{one}@x") == USUAL.of(f"{other}@x")) == (folded(one) == folded(other))


@pytest.mark.parametrize("recipient", ["postmaster", "@example.org", '""@example.org', "joe@", ""])
def test_an_address_without_a_part_that_is_asked_for_has_no_path(recipient: str):
    assert USUAL.of(recipient) is None


def test_a_part_that_is_not_asked_for_may_be_missing():
    assert MailboxPath(("{local_part}",)).of("postmaster") == ("postmaster",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("/{local_part}", "single slashes"),
        ("{domain}//{local_part}", "single slashes"),
        ("../{local_part}", "without . and .."),
        ("{domain}/./x", "without . and .."),
        ("{user}", "{local_part}, {domain}, {recipient} in braces, not {user}"),
        ("{local_part", "each {"),
        ("a}b", "each {"),
        ("{}", "not {}"),
    ],
)
def test_a_pattern_that_makes_no_sense_is_an_error_that_says_why(text: str, complaint: str):
    entries = {
        "PROGRAM": Entry("pepsi-stage-deliver-maildir", "pepsi.conf", 2),
        "DIRECTORY": Entry("/srv/mail", "pepsi.conf", 3),
        "MAILBOX": Entry(text, "pepsi.conf", 4),
    }
    options, problems = parse_section(DeliverMaildirOptions, RawSection("stage-deliver", 1, entries))
    assert options is None
    assert complaint in str(problems[0])
    assert "pepsi.conf:4" in str(problems[0])
