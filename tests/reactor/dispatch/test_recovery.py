"""What a former dispatcher left running is given back when its workers are gone, and not before."""

from typing import Any, cast

from twisted.internet import defer
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from pepsi.db import leadership as statements
from pepsi.db.statement import Statement
from pepsi.dispatch.recovery import GRACE, PATIENCE, STEP, Recovery
from pepsi.reactor.session import Unavailable
from pepsi.sched.events import Event, FormerReturned, Wake, Woken
from tests.fakes_dispatch import FakeSession

Rows = list[tuple[Any, ...]]
WORKER = (4711, "pepsi-stage-a")


class Server:
    """A server with sessions of former workers, and rows that they left running."""

    def __init__(self, clock: Clock, workers: Rows, rows: int) -> None:
        self.clock = clock
        self.workers, self.rows = workers, rows
        self.away = False
        self.ended = 0
        self.heard: list[Event] = []
        session: Any = FakeSession(self.answer)
        self.recovery = Recovery(cast(Any, clock), session, 7, self.heard.append)

    def answer(self, statement: Statement) -> Rows:
        if self.away:
            raise Unavailable("no database")
        if statement.text == statements.former_workers().text:
            return self.workers
        if statement.text == statements.end_former_workers().text:
            self.ended += 1
            return []
        if statement == statements.former_left(7):
            return [(self.rows > 0,)]
        assert statement == statements.return_former(7)
        batch, self.rows = min(self.rows, 1000), max(0, self.rows - 1000)
        return [(number,) for number in range(batch)]

    def run(self) -> "defer.Deferred[None]":
        return defer.ensureDeferred(self.recovery.run())


def test_without_former_workers_their_rows_come_back_at_once_in_batches(clock: Clock) -> None:
    server = Server(clock, [], rows=2500)
    with capturedLogs() as logged:
        assert server.run().called
    assert server.heard == [Woken(Wake.REPAIR)] * 3 + [FormerReturned()]
    assert [entry["count"] for entry in logged] == [2500]
    assert not server.ended


def test_nothing_left_is_nothing_said(clock: Clock) -> None:
    server = Server(clock, [], rows=0)
    with capturedLogs() as logged:
        assert server.run().called
    assert server.heard == [FormerReturned()]
    assert not logged


def test_former_workers_may_finish_what_they_are_at(clock: Clock) -> None:
    server = Server(clock, [WORKER], rows=5)
    with capturedLogs():
        done = server.run()
        clock.pump([STEP] * (int(GRACE / STEP) - 1))
        server.workers = []
        clock.advance(STEP)
    assert done.called
    assert not server.ended


def test_former_workers_that_do_not_end_are_ended_and_waited_for(clock: Clock) -> None:
    server = Server(clock, [WORKER, WORKER], rows=5)
    with capturedLogs() as logged:
        done = server.run()
        clock.pump([STEP] * int(GRACE / STEP))
        clock.pump([STEP] * 6)
    assert server.ended == 7
    assert not server.heard
    assert [entry["names"] for entry in logged] == [["pepsi-stage-a"]], "told once"
    server.workers = []
    clock.advance(STEP)
    assert done.called
    assert server.heard == [Woken(Wake.REPAIR), FormerReturned()]


def test_after_ninety_seconds_they_are_taken_for_gone(clock: Clock) -> None:
    server = Server(clock, [WORKER], rows=5)
    with capturedLogs() as logged:
        done = server.run()
        clock.pump([STEP] * (int(PATIENCE / STEP) - 1))
        assert not done.called
        clock.pump([STEP] * 2)
    assert done.called
    assert server.heard == [Woken(Wake.REPAIR), FormerReturned()]
    assert "still there" in logged[-2]["log_format"]


def test_it_goes_on_through_an_outage(clock: Clock) -> None:
    server = Server(clock, [], rows=5)
    server.away = True
    with capturedLogs():
        done = server.run()
        clock.pump([STEP] * 10)
        assert not done.called
        server.away = False
        clock.pump([STEP])
    assert done.called
    assert server.heard == [Woken(Wake.REPAIR), FormerReturned()]


def test_a_cancel_ends_it(clock: Clock) -> None:
    server = Server(clock, [WORKER], rows=5)
    with capturedLogs():
        done = server.run()
    failures: list[Any] = []
    done.addErrback(failures.append)
    done.cancel()
    assert failures[0].check(defer.CancelledError)
    assert not clock.getDelayedCalls()
