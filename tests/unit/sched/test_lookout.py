"""An old snapshot is told of when it hurts, by name and with a mend, and not again and again."""

import pytest

from pepsi.sched.commands import Level, Note
from pepsi.sched.lookout import MANY_DEAD, MUCH_DEAD, OLD, REPEAT, Holder, Lookout, Sight


def holder(
    name: str = "77", *, seconds: float | None = 1000.0, transactions: int = 5000, kind: str = "session"
) -> Holder:
    return Holder(
        kind=kind, name=name, application="pg_dump", owner="backup", seconds=seconds, transactions=transactions
    )


def sight(held: Holder | None, dead: int = MANY_DEAD, live: int = 10**6) -> Sight:
    return Sight(dead=dead, live=live, holder=held)


def said(notes: list[Note]) -> list[str]:
    return [note.text.format(**note.facts) for note in notes]


def test_a_holder_that_hurts_is_named_with_its_age_and_a_mend() -> None:
    (note,) = Lookout().look(sight(holder()), 0.0)
    assert note.level is Level.WARN
    (text,) = said([note])
    assert text == (
        "the session of server process 77 (user backup, application pg_dump) has kept dead rows of the queue from "
        "being cleared away for 1000 s and 5000 transactions; there are 50000 of them beside 1000000 live ones, and "
        "they slow the queue down. To mend that, end it: SELECT pg_terminate_backend(77)"
    )


@pytest.mark.parametrize(
    ("kind", "mend"),
    [
        ("prepared", "ROLLBACK PREPARED 'x'"),
        ("slot", "pg_drop_replication_slot('x')"),
        ("standby", "hot_standby_feedback"),
    ],
)
def test_each_kind_of_holder_has_its_own_mend(kind: str, mend: str) -> None:
    (text,) = said(Lookout().look(sight(holder("x", kind=kind)), 0.0))
    assert mend in text


@pytest.mark.parametrize(
    "harmless",
    [
        sight(None),
        sight(holder(seconds=OLD - 1)),
        sight(holder(), dead=MANY_DEAD - 1),
        sight(holder(), dead=MUCH_DEAD - 1, live=0),
    ],
    ids=["nobody", "young", "few dead rows beside many live ones", "few dead rows"],
)
def test_what_does_not_hurt_is_not_told_of(harmless: Sight) -> None:
    assert Lookout().look(harmless, 0.0) == []


def test_fewer_dead_rows_hurt_where_hardly_any_row_lives() -> None:
    assert said(Lookout().look(sight(holder(), dead=MUCH_DEAD, live=MUCH_DEAD // 10), 0.0))


def test_one_holder_is_told_of_once_in_ten_minutes_and_when_it_is_gone() -> None:
    lookout = Lookout()
    told = []
    for beat in range(41):
        held = holder(seconds=1000.0 + beat * 30, transactions=5000 + beat)
        told += lookout.look(sight(held), beat * 30.0)
    assert len(told) == 1 + 40 * 30 // REPEAT
    (gone,) = lookout.look(sight(None), 2000.0)
    assert gone.level is Level.INFO
    assert said([gone])[0].startswith("the session of server process 77 (user backup, application pg_dump) no longer")
    assert lookout.look(sight(None), 2030.0) == []


def test_a_holder_that_lets_go_and_takes_a_new_snapshot_is_gone() -> None:
    lookout = Lookout()
    lookout.look(sight(holder(transactions=5000)), 0.0)
    notes = lookout.look(sight(holder(seconds=1.0, transactions=3)), 30.0)
    assert [note.level for note in notes] == [Level.INFO]


def test_another_holder_is_told_of_at_once() -> None:
    lookout = Lookout()
    lookout.look(sight(holder("77")), 0.0)
    notes = lookout.look(sight(holder("78")), 30.0)
    assert [note.level for note in notes] == [Level.INFO, Level.WARN]


def test_an_age_that_may_not_be_seen_is_measured_by_watching() -> None:
    lookout = Lookout()
    for beat in range(int(OLD // 30) + 1):
        notes = lookout.look(sight(holder(seconds=None, transactions=100 + beat)), beat * 30.0)
    assert "for 300 s" in said(notes)[0]
    assert lookout.seen is not None
    assert lookout.seen.holder is not None
    assert lookout.seen.holder.seconds == 300.0
