"""Whose setting wins, and which recipients of a message share their settings."""

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pepsi.model.settings import (
    NOTHING_SET,
    Group,
    Settings,
    Wanted,
    correspondents,
    settings_address,
    settings_domain,
    settings_of,
)

A, B, C = "a@x.org", "b@x.org", "c@y.org"
KEYS = frozenset(("K", "L"))


def known(*entries: tuple[str, str, str, str], whose: tuple[str, ...] = (A, B, C)) -> Settings:
    return settings_of(Wanted(("s", "t"), ("K", "L")), whose, entries)


def test_an_address_beats_its_domain_which_beats_everybody() -> None:
    found = known(
        ("*", "s", "K", "all"),
        ("*", "s", "L", "all"),
        ("@x.org", "s", "K", "domain"),
        (A, "s", "K", "address"),
        (A, "t", "L", "another stage"),
    )
    assert found.winning("s", A, KEYS) == (("K", "address"), ("L", "all"))
    assert found.winning("s", B, KEYS) == (("K", "domain"), ("L", "all"))
    assert found.winning("s", C, KEYS) == (("K", "all"), ("L", "all"))
    assert found.winning("t", A, KEYS) == (("L", "another stage"),)
    assert found.winning("u", A, KEYS) == ()


def test_what_no_correspondent_may_set_wins_nothing_and_splits_nothing() -> None:
    found = known((A, "s", "PROGRAM", "rm"))
    assert found.winning("s", A, KEYS) == ()
    assert found.groups("s", (A, B), KEYS) == (Group((), (A, B)),)


def test_recipients_with_the_same_settings_stay_together_in_their_order() -> None:
    found = known((A, "s", "K", "1"), (C, "s", "K", "1"), whose=(B, A, C))
    assert found.groups("s", (B, A, C), KEYS) == (Group((), (B,)), Group((("K", "1"),), (A, C)))
    assert found.groups("t", (B, A, C), KEYS) == (Group((), (B, A, C)),)


def test_who_hands_mail_in_is_the_one_whose_settings_count() -> None:
    assert correspondents(A, (B, C), {"local_origin": True}) == (A,)
    for state in ({}, {"local_origin": False}, {"local_origin": "true"}, {"local_origin": 1}):
        assert correspondents(A, (B, C), state) == (B, C)


def test_the_null_sender_has_set_nothing_of_its_own() -> None:
    found = known(("*", "s", "K", "all"), whose=("",))
    assert found.groups("s", ("",), KEYS) == (Group((("K", "all"),), ("",)),)


def test_what_was_not_loaded_is_not_taken_for_nothing() -> None:
    found = known(whose=(A, B))
    assert found.tell("s", (A, B))
    assert found.tell("s", (B,))
    assert not found.tell("s", (A, C))
    assert not found.tell("u", (A,))
    assert NOTHING_SET.tell("anything", (C,))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Bob@Example.ORG", "bob@example.org"),
        ('"bob"@example.org', "bob@example.org"),
        (r'"b\ob"@example.org', "bob@example.org"),
        ('"Bob Smith"@example.org', '"bob smith"@example.org'),
        (r'"Bob\ Smith"@example.org', '"bob smith"@example.org'),
        (r'"a\"b\\c"@x', r'"a\"b\\c"@x'),
        ('"a@b"@x', '"a@b"@x'),
        ("@Example.Org", "@example.org"),
        ("*", "*"),
        ("postmaster", "postmaster"),
        ("ÄRGER@Bücher.example", "Ärger@bücher.example"),
        ("x@XN--BCHER-KVA.example", "x@xn--bcher-kva.example"),
        ("\N{KELVIN SIGN}@x", "\N{KELVIN SIGN}@x"),
        ('"', '"'),
        ('""@x', '""@x'),
        ("", ""),
    ],
)
def test_the_same_mailbox_is_kept_under_the_same_address(written: str, kept: str) -> None:
    assert settings_address(written) == kept


@given(st.text(alphabet=st.sampled_from('aB"\\@. \t\n<(\x01\x7fÄß\u2028'), max_size=12))
def test_an_address_that_is_kept_stays_as_it_is(written: str) -> None:
    kept = settings_address(written)
    assert settings_address(kept) == kept


def test_the_domain_is_what_stands_behind_the_last_at_sign() -> None:
    assert settings_domain('"a@b"@X.org') == "@x.org"
    assert settings_domain("postmaster") is None
    assert settings_domain("x@") == "@"


ADDRESSES = st.sampled_from([A, "A@X.ORG", '"a"@x.org', B, C, "d@z.org", "postmaster", '"a b"@x.org'])
PLACES = st.sampled_from(["*", "@x.org", "@y.org", "@z.org", A, B, C, "postmaster", '"a b"@x.org'])
ENTRIES = st.dictionaries(
    st.tuples(PLACES, st.sampled_from(["s", "t"]), st.sampled_from(["K", "L", "PROGRAM"])),
    st.sampled_from(["1", "2"]),
    max_size=12,
)


def own(entries: dict[tuple[str, str, str], str], recipient: str) -> list[tuple[str, str]]:
    """Return what wins for *recipient* at the stage s, found in the plainest way."""
    mailbox = recipient.lower().replace('"a"@', "a@")
    places = [mailbox, "@" + mailbox.rpartition("@")[2] if "@" in mailbox else None, "*"]
    won = []
    for key in ("K", "L"):
        values = [entries[place, "s", key] for place in places if place and (place, "s", key) in entries]
        won += [(key, values[0])] if values else []
    return won


@settings(max_examples=1000, deadline=None)
@given(ENTRIES, st.lists(ADDRESSES, min_size=1, max_size=8))
def test_groups_are_those_that_the_plainest_comparison_finds(
    entries: dict[tuple[str, str, str], str], recipients: list[str]
) -> None:
    found = settings_of(
        Wanted(("s",), ("K", "L")), tuple(recipients), [(*place, value) for place, value in entries.items()]
    )
    groups = found.groups("s", tuple(recipients), KEYS)
    order = [own(entries, recipient) for recipient in recipients]
    expected = sorted(zip(order, range(len(recipients)), strict=True), key=lambda each: (order.index(each[0]), each[1]))
    assert [(list(group.overrides), list(group.recipients)) for group in groups] == [
        (won, [recipients[place] for _, place in each]) for won, each in groupby(expected, key=lambda each: each[0])
    ]
