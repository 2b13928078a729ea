"""What the dispatcher owes the database is kept until it is written."""

from pepsi.model.row import RowStatus
from pepsi.sched.commands import Settlement
from pepsi.sched.held import Held
from pepsi.sched.owed import BATCH, Owed


def owing(*ids: int, owed: Owed | None = None) -> Owed:
    owed = Owed() if owed is None else owed
    for number in ids:
        write = Settlement(workqueue_id=number, claim=1, status=RowStatus.PENDING)
        owed.add(Held(number, 1, "a", strikes=0), write)
    return owed


def ids(settlements: tuple[Settlement, ...]) -> list[int]:
    return [settlement.workqueue_id for settlement in settlements]


def test_what_is_owed_is_written_once() -> None:
    owed = owing(1, 2)
    assert owed.next_time() <= 0.0
    assert ids(owed.begin(0.0)) == [1, 2]
    assert owed.next_time() > 0.0
    assert [held.workqueue_id for held in owed.written(now=0.0)] == [1, 2]
    assert len(owed) == 0
    assert owed.next_time() > 0.0


def test_what_comes_while_a_batch_is_under_way_goes_with_the_next() -> None:
    owed = owing(1)
    owed.begin(0.0)
    owing(2, owed=owed)
    assert owed.next_time() > 0.0
    owed.written(now=0.0)
    assert ids(owed.begin(0.0)) == [2]


def test_a_batch_is_bounded() -> None:
    owed = owing(*range(BATCH + 1))
    assert len(owed.begin(0.0)) == BATCH
    owed.written(now=0.0)
    assert ids(owed.begin(0.0)) == [BATCH]


def test_a_batch_that_failed_is_owed_again_before_what_came_later() -> None:
    owed = owing(1, 2)
    owed.begin(0.0)
    owing(3, owed=owed)
    owed.failed(now=10.0)
    assert len(owed) == 3
    assert owed.next_time() > 10.0
    assert owed.next_time() <= 10.5
    assert ids(owed.begin(0.0)) == [1, 2, 3]


def test_retries_come_less_and_less_often_but_never_less_than_twice_a_minute() -> None:
    owed, now, pauses = owing(1), 0.0, []
    for _ in range(9):
        owed.begin(0.0)
        owed.failed(now)
        pauses.append(owed.retry.until - now)
        now = owed.retry.until
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    owed.begin(0.0)
    owed.written(now=0.0)
    assert owing(2, owed=owed).next_time() <= now


def test_a_refused_batch_is_written_one_by_one_until_the_culprit_stands_alone() -> None:
    owed = owing(1, 2, 3)
    owed.begin(0.0)
    assert owed.refused() is None
    assert ids(owed.begin(0.0)) == [1]
    owed.written(now=0.0)
    assert ids(owed.begin(0.0)) == [2]
    culprit = owed.refused()
    assert culprit is not None
    assert culprit[0].workqueue_id == 2
    assert ids(owed.begin(0.0)) == [3]
    owed.written(now=0.0)
    owing(4, 5, owed=owed)
    assert ids(owed.begin(0.0)) == [4, 5]
