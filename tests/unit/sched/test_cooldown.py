"""A pause that doubles while what caused it keeps happening."""

from pepsi.sched.cooldown import Cooldown


def test_nothing_is_paused_before_there_is_trouble() -> None:
    assert not Cooldown(first=1.0, longest=60.0).active(0.0)


def test_each_further_trouble_doubles_the_pause_up_to_the_longest() -> None:
    pause, now, lengths = Cooldown(first=1.0, longest=10.0), 100.0, []
    for _ in range(6):
        lengths.append(pause.trouble(now))
        assert pause.active(now)
        now = pause.until
        assert not pause.active(now)
    assert lengths == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_trouble_during_a_pause_counts_once() -> None:
    pause = Cooldown(first=1.0, longest=60.0)
    assert pause.trouble(100.0) == 1.0
    assert pause.trouble(100.5) == 1.0
    assert pause.until == 101.0


def test_when_all_is_well_it_starts_from_the_first_again() -> None:
    pause = Cooldown(first=1.0, longest=60.0)
    pause.trouble(100.0)
    pause.trouble(101.0)
    pause.clear()
    assert not pause.active(101.5)
    assert pause.trouble(102.0) == 1.0
