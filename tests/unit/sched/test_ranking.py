"""Whose rows a claim takes, and in which order."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.sched import ranking
from pepsi.sched.commands import Sender, Want
from pepsi.sched.events import Window


def rows(text: str) -> list[tuple[int, str]]:
    """Each word is one row's sender; ids count from 1."""
    return list(enumerate(text.split(), 1))


def chosen(text: str, capacity: int = 4, leads: Iterable[Sender] = (), **more: object) -> tuple[int, ...]:
    want = Want(stage="s", capacity=capacity, average=1.0, senders=tuple(leads), **more)  # type: ignore[arg-type]
    return ranking.choose(want, rows(text)).ids


def test_one_row_takes_turns_with_a_thousand_of_somebody_else() -> None:
    assert chosen("bulk " * 1000 + "light") == (1, 1001, 2, 3)


def test_a_sender_with_a_lead_waits_until_the_others_have_had_as_much() -> None:
    assert chosen("a a a b b b", leads=[Sender("a", 1.5)]) == (4, 5, 1, 6)


def test_equal_ranks_go_by_age() -> None:
    assert chosen("b a b a", capacity=3) == (1, 2, 3)


def test_the_oldest_rows_come_first_and_count_among_their_senders_rows() -> None:
    assert chosen("bulk bulk bulk light light", fifo=1, capacity=3) == (1, 4, 2)
    assert chosen("bulk bulk bulk light light", leads=[Sender("bulk", 10.0)], fifo=2, capacity=5) == (1, 2, 4, 5, 3)


def test_the_oldest_rows_take_up_room() -> None:
    assert chosen("a b c d e f", fifo=9, capacity=3) == (1, 2, 3)


def test_an_expensive_sender_gets_fewer_rows() -> None:
    got = chosen("a b " * 50, capacity=12, leads=[Sender("a", 8.0)])
    assert sum(number % 2 for number in got) == 2


def test_nothing_below_a_floor_is_looked_at() -> None:
    assert chosen("a a a a b b", floor=3) == (3, 5, 4, 6)
    assert chosen("a a a a b b", leads=[Sender("a", floor=4)]) == (4, 5, 6)


def window(senders: int, capacity: int = 1, leads: Iterable[Sender] = (), **more: object) -> Window:
    want = Want(stage="s", capacity=capacity, senders=tuple(leads), **more)  # type: ignore[arg-type]
    return ranking.choose(want, [(number, f"s{number:03}") for number in range(1, senders + 1)]).window


def test_a_window_that_holds_all_is_complete() -> None:
    assert window(16) == Window(stage="s", last="s016", complete=True, lowest=0.0)
    assert window(17) == Window(stage="s", last="s016", complete=False, lowest=0.0)


def test_a_window_begins_past_the_last_one_and_wraps() -> None:
    assert window(20, after="s010") == Window(stage="s", last="s006", complete=False, lowest=0.0)
    assert window(20, after="s020").last == "s016"
    assert window(5, after="s003") == Window(stage="s", last="s003", complete=True, lowest=0.0)


def test_nobody_waits() -> None:
    assert window(0) == Window(stage="s", last="", complete=True, lowest=0.0)


def test_the_lowest_lead_is_that_of_a_sender_that_waits() -> None:
    assert window(2, leads=[Sender("s001", 3.0), Sender("s002", 2.0), Sender("s003", 1.0)]).lowest == 2.0
    assert window(2, leads=[Sender("s001", 3.0)]).lowest == 0.0


def test_a_window_ends_at_many_senders_that_are_known_and_do_not_wait() -> None:
    known = [Sender(f"r{number:03}", floor=1) for number in range(100)]
    first = window(3, leads=known)
    assert first == Window(stage="s", last="r063", complete=False, lowest=0.0)
    second = window(3, leads=known, after=first.last)
    assert (second.last, second.complete) == ("r027", False)
    assert window(3, leads=[Sender(sender.key) for sender in known]).complete


@pytest.mark.parametrize(("capacity", "senders"), [(1, 16), (4, 16), (8, 16), (20, 40), (32, 64), (1000, 64)])
def test_a_small_claim_looks_at_fewer_senders(capacity: int, senders: int) -> None:
    assert ranking.width(capacity) == senders


@given(
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=30),
    st.integers(1, 10),
    st.integers(0, 10),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.floats(0, 10), max_size=4),
)
def test_no_room_is_left_while_somebody_waits(
    senders: list[str], capacity: int, fifo: int, leads: dict[str, float]
) -> None:
    known = tuple(Sender(key, lead) for key, lead in leads.items())
    want = Want(stage="s", capacity=capacity, fifo=fifo, senders=known)
    got = ranking.choose(want, list(enumerate(senders))).ids
    assert len(got) == len(set(got)) == min(capacity, len(senders))
