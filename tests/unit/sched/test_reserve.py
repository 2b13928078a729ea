"""One worker stays free for whoever comes now and then, and for nobody if nobody comes."""

from pepsi.sched.reserve import Reserve


def test_who_is_alone_leaves_nothing_free() -> None:
    reserve = Reserve(span=60.0)
    reserve.note("bulk", 4, 100.0)
    assert not reserve.wanted({"bulk"}, 100.0)


def test_another_sender_is_waited_for_until_it_has_not_come_for_a_while() -> None:
    reserve = Reserve(span=60.0)
    reserve.note("light", 4, 100.0)
    reserve.note("bulk", 4, 120.0)
    assert reserve.wanted({"bulk"}, 159.9)
    assert not reserve.wanted({"bulk"}, 160.0)


def test_who_is_at_work_is_not_waited_for() -> None:
    reserve = Reserve(span=60.0)
    reserve.note("light", 4, 100.0)
    reserve.note("bulk", 4, 100.0)
    assert not reserve.wanted({"bulk", "light"}, 100.0)


def test_as_many_are_remembered_as_can_be_at_work_and_one_more() -> None:
    reserve = Reserve(span=60.0)
    for number in range(1000):
        reserve.note(f"s{number}", 2, 100.0 + number / 1000)
    assert list(reserve.seen) == ["s997", "s998", "s999"]
    assert reserve.wanted({"s998", "s999"}, 101.0)
