"""Each command is one statement on the right session, and each is answered by one event, whatever happened."""

from collections.abc import Coroutine
from typing import Any, cast

import pytest
from twisted.internet import defer
from twisted.logger import capturedLogs

from pepsi.db.faults import Fault
from pepsi.db.statement import Statement
from pepsi.dispatch.clerk import Clerk
from pepsi.model.row import RowStatus
from pepsi.reactor.session import Refused, Unavailable
from pepsi.sched import commands, events
from pepsi.sched.events import Event
from pepsi.sched.statistics import Deltas, StageCounts
from tests.fakes_dispatch import FakeSession

CLAIM = commands.Claim(
    token=7 << 40 | 1,
    fair=False,
    wants=(commands.Want(stage="a", capacity=4), commands.Want(stage="b", capacity=2)),
)
SETTLE = commands.Settle((commands.Settlement(workqueue_id=1, claim=5, status=RowStatus.PENDING),))
FLUSH = commands.Flush(3, Deltas({"a": StageCounts(messages=1)}, 1, 0))
AWAY = Unavailable("no database")


class Office:
    """A clerk of epoch 7 whose statements are answered by *answer*: rows, or an error."""

    def __init__(self, answer: list[tuple[Any, ...]] | Exception) -> None:
        self.answer = answer
        self.locked, self.writes = FakeSession(self._answer), FakeSession(self._answer)
        self.heard: list[Event] = []
        locked, writes = cast(tuple[Any, Any], (self.locked, self.writes))
        self.clerk = Clerk(7, locked, writes, self.heard.append)

    def _answer(self, statement: Statement) -> list[tuple[Any, ...]]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def do(self, work: Coroutine[Any, Any, None]) -> Event:
        done = defer.ensureDeferred(work)
        assert done.called
        done.addErrback(lambda failure: failure.raiseException())
        (event,) = self.heard
        return event


def test_a_claim_goes_over_the_session_that_holds_the_lock() -> None:
    office = Office([(1, "a", "ip:192.0.2.1", 0, 0), (5, "b", "user:x", 2, 3)])
    assert office.do(office.clerk.claim(CLAIM)) == events.Claimed(
        token=CLAIM.token,
        rows=(
            events.ClaimedRow(workqueue_id=1, stage="a", sender="ip:192.0.2.1"),
            events.ClaimedRow(workqueue_id=5, stage="b", sender="user:x", strikes=2, interrupted=3),
        ),
    )
    (statement,) = office.locked.ran
    assert statement.params == {"stages": ["a", "b"], "capacities": [4, 2], "floors": [0, 0], "claim": CLAIM.token}
    assert not office.writes.ran


def test_all_else_goes_over_the_session_for_writes_which_a_hanging_claim_does_not_block() -> None:
    office = Office([])
    for work in (
        office.clerk.settle(SETTLE),
        office.clerk.ask_due(),
        office.clerk.flip_due(10),
        office.clerk.ask_running(3),
        office.clerk.flush(FLUSH),
    ):
        defer.ensureDeferred(work)
    assert len(office.writes.ran) == 5
    assert not office.locked.ran


def test_what_comes_back_is_told() -> None:
    office = Office([])
    assert office.do(office.clerk.settle(SETTLE)) == events.Settled()
    office = Office([])
    assert office.do(office.clerk.flush(FLUSH)) == events.Flushed()
    office = Office([(12.5,)])
    assert office.do(office.clerk.ask_due()) == events.DueIn(12.5)
    office = Office([])
    assert office.do(office.clerk.ask_due()) == events.DueIn(None)
    office = Office([(1,), (2,), (3,)])
    assert office.do(office.clerk.flip_due(10)) == events.Flipped((1, 2, 3))
    office = Office([(1, 7 << 40 | 1, "a", 2)])
    assert office.do(office.clerk.ask_running(3)) == events.RunningRows(
        look=3, rows=(events.RunningRow(workqueue_id=1, claim=7 << 40 | 1, stage="a", strikes=2),)
    )


@pytest.mark.parametrize(("count", "more"), [(0, False), (9, False), (10, True)])
def test_a_sweep_that_deleted_all_it_might_is_not_over(count: int, more: bool) -> None:
    office = Office([(count,)])
    with capturedLogs() as logged:
        assert office.do(office.clerk.sweep(10)) == events.Swept(more=more)
    assert len(logged) == (count > 0)
    assert office.writes.ran[0].params == {"limit": 10}


def test_rows_that_somebody_else_has_locked_are_told() -> None:
    office = Office([(1,)])
    assert office.do(office.clerk.settle(SETTLE)) == events.Settled(locked=(1,))


def test_without_a_database_each_says_so_without_a_word_in_the_log() -> None:
    office = Office(AWAY)
    with capturedLogs() as logged:
        assert office.do(office.clerk.claim(CLAIM)) == events.ClaimFailed()
        for work, event in (
            (office.clerk.settle(SETTLE), events.SettleFailed("no database")),
            (office.clerk.ask_due(), events.DueFailed()),
            (office.clerk.flip_due(10), events.DueFailed()),
            (office.clerk.flush(FLUSH), events.FlushFailed()),
            (office.clerk.sweep(10), events.Swept(more=True)),
        ):
            office.heard.clear()
            assert office.do(work) == event
    assert not logged
    assert not office.locked.dropped


def test_no_look_at_running_rows_is_no_event() -> None:
    office = Office(AWAY)
    defer.ensureDeferred(office.clerk.ask_running(3))
    assert not office.heard


def test_a_refused_claim_is_an_error_and_a_new_session_starts_from_what_is_certain() -> None:
    office = Office(Refused("permission denied", Fault.OTHER))
    with capturedLogs() as logged:
        assert office.do(office.clerk.claim(CLAIM)) == events.ClaimFailed()
    assert "permission denied" in str(logged[0]["why"])
    assert office.locked.dropped


@pytest.mark.parametrize("fault", [Fault.RETRY, Fault.CANCELLED, Fault.LIMIT])
def test_a_settlement_that_may_succeed_later_is_not_called_refused(fault: Fault) -> None:
    office = Office(Refused("not now", fault))
    assert office.do(office.clerk.settle(SETTLE)) == events.SettleFailed("not now", refused=False)


def test_a_settlement_that_never_can_succeed_is() -> None:
    office = Office(Refused("invalid input", Fault.DATA))
    assert office.do(office.clerk.settle(SETTLE)) == events.SettleFailed("invalid input", refused=True)


def test_what_else_is_refused_is_logged() -> None:
    office = Office(Refused("permission denied", Fault.OTHER))
    with capturedLogs() as logged:
        for work in (office.clerk.ask_due(), office.clerk.flip_due(1), office.clerk.flush(FLUSH)):
            defer.ensureDeferred(work)
        defer.ensureDeferred(office.clerk.ask_running(3))
    assert [entry["why"] for entry in logged] == ["permission denied"] * 4
