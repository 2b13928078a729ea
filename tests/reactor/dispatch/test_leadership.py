"""The lock and the epoch: taken, waited for, lost, taken again; and what is set right in between."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from twisted.internet import defer
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from pepsi.db import leadership as statements
from pepsi.db.faults import Fault
from pepsi.db.statement import Statement
from pepsi.dispatch.leadership import PATIENCE, Leadership, LockTaken, Pooled, refuse_shared
from pepsi.reactor.session import Refused, Unavailable
from pepsi.sched.events import Event, Fenced, LockHeld, LockLost
from pepsi.sched.held import Held, Place
from tests.fakes_dispatch import FakeSession

Rows = list[tuple[Any, ...]]
TOKEN = 7 << 40 | 1
OWN = (815, "2026-01-01 00:00:00.123456+00")
HOLDER = (4711, "10.0.0.5", "2026-01-01 00:00:00+00", "pepsi-dispatch: lock and claims")


class Server:
    """As much of a server as leadership needs. *free_after* is how often the lock is asked for in vain."""

    def __init__(self, clock: Clock, free_after: float = 0) -> None:
        self.epoch = 6
        self.free_after = free_after
        self.backends = [100]
        self.holder: Rows = [HOLDER]
        self.undone: Rows = []
        self.strangers: Rows = []
        self.error: Exception | None = None
        self.raises = 0
        """How often the lock turns out to be lost again when the epoch is to be raised."""
        self.asked: list[str] = []
        self.heard: list[Event] = []
        self.holdings = [Held(number, TOKEN, "a", strikes=0) for number in (1, 2)]
        self.session = FakeSession(self.answer)
        session = cast(Any, self.session)
        self.leadership = Leadership(clock, session, self.heard.append, lambda: self.holdings)

    def answer(self, statement: Statement) -> Rows:
        if self.error is not None:
            raise self.error
        answers: list[tuple[Statement, str, Callable[[], Rows]]] = [
            (statements.same_backend(), "backend", lambda: [(self.backends[len(self.asked) % len(self.backends)],)]),
            (statements.try_lock(), "lock", self.lock),
            (statements.lock_holder(), "holder", lambda: self.holder),
            (statements.own_session(), "own", lambda: [OWN]),
            (statements.end_former_session(*OWN), "end", lambda: [(True,)]),
            (statements.raise_epoch(), "raise", self.raise_epoch),
            (statements.present_epoch(), "epoch", lambda: [(self.epoch,)]),
            (statements.reassert_claims([]), "reassert", lambda: self.undone),
            (statements.return_strangers(7, []), "return", lambda: self.strangers),
        ]
        for known, name, act in answers:
            if known.text == statement.text:
                rows = act()
                self.asked.append(name)
                return rows
        raise AssertionError(statement.text)

    def lock(self) -> Rows:
        self.free_after -= 1
        return [(self.free_after < 0,)]

    def raise_epoch(self) -> Rows:
        if self.raises:
            self.raises -= 1
            return []
        self.epoch += 1
        return [(self.epoch,)]

    def take(self, *, standby: bool = False) -> "defer.Deferred[int]":
        return defer.ensureDeferred(self.leadership.take(standby=standby))

    def leader(self) -> None:
        """Take the lock, and forget what it took."""
        assert self.take().result == 7
        self.asked.clear()


def failed(work: "defer.Deferred[Any]") -> BaseException:
    """Return what *work* failed with."""
    failures: list[Any] = []
    work.addErrback(failures.append)
    return cast(BaseException, failures[0].value)


def test_a_free_lock_is_taken_and_an_epoch_begun(clock: Clock) -> None:
    server = Server(clock)
    assert server.take().result == 7
    assert server.asked == ["backend", "backend", "lock", "own", "raise"]
    assert not server.heard


def test_an_epoch_is_not_begun_without_the_lock(clock: Clock) -> None:
    server = Server(clock)
    server.raises = 2
    taken = server.take()
    clock.pump([0.5])
    assert not taken.called
    clock.pump([0.5])
    assert taken.result == 7
    assert server.asked.count("lock") == 3


def test_a_lock_that_is_let_go_in_time_is_waited_for(clock: Clock) -> None:
    server = Server(clock, free_after=5)
    with capturedLogs() as logged:
        taken = server.take()
        assert not taken.called
        clock.pump([0.5] * 5)
    assert taken.result == 7
    assert len(logged) == 1
    assert "4711" in logged[0]["holder"]


def test_after_ten_seconds_it_is_given_up_and_the_holder_named(clock: Clock) -> None:
    server = Server(clock, free_after=1e9)
    taken = server.take()
    clock.pump([0.5] * int(PATIENCE * 2 - 1))
    assert not taken.called
    clock.pump([0.5, 0.5])
    error = failed(taken)
    assert isinstance(error, LockTaken)
    for fact in ("4711", "10.0.0.5", "2026-01-01", "pepsi-dispatch"):
        assert fact in str(error)
    assert server.epoch == 6, "another dispatcher's epoch is not touched"


@pytest.mark.parametrize(
    ("holder", "words"),
    [
        ([(None, None, None, "")], "this role may not see"),
        ([(4711, "a local socket", None, "pepsi-dispatch")], "held by pepsi-dispatch, server process 4711"),
        ([], "free again"),
    ],
)
def test_a_holder_that_cannot_be_seen_is_no_reason_to_fail(clock: Clock, holder: Rows, words: str) -> None:
    server = Server(clock, free_after=1e9)
    server.holder = holder
    taken = server.take()
    clock.pump([0.5] * 25)
    assert words in str(failed(taken))


def test_a_standby_waits_without_limit(clock: Clock) -> None:
    server = Server(clock, free_after=5000)
    taken = server.take(standby=True)
    clock.pump([0.5] * 4999)
    assert not taken.called
    clock.pump([0.5] * 2)
    assert taken.result == 7


def test_a_standby_outlasts_an_outage_and_a_start_does_not(clock: Clock) -> None:
    for standby in (True, False):
        server = Server(clock, free_after=1e9)
        taken = server.take(standby=standby)
        clock.pump([0.5] * 3)
        server.error = Unavailable("the server is restarted")
        clock.pump([0.5] * 1000)
        if not standby:
            assert isinstance(failed(taken), Unavailable)
            continue
        server.error, server.free_after = None, 0
        clock.pump([0.5])
        assert taken.result == 7


def test_two_sessions_that_are_one_at_the_server_are_refused(clock: Clock) -> None:
    one, other = Server(clock), Server(clock)
    sessions = cast(Any, one.session), cast(Any, other.session)
    assert isinstance(failed(defer.ensureDeferred(refuse_shared(*sessions))), Pooled)
    other.backends = [101]
    assert defer.ensureDeferred(refuse_shared(*sessions)).result is None


def test_a_pooler_is_refused(clock: Clock) -> None:
    server = Server(clock)
    server.backends = [100, 101]
    error = failed(server.take())
    assert isinstance(error, Pooled)
    assert "transaction pooler" in str(error)
    assert "lock" not in server.asked


def test_a_lost_session_is_a_lost_lock_and_a_new_one_is_reconciled_before_the_lock_counts(clock: Clock) -> None:
    server = Server(clock)
    server.leader()
    server.session.lose()
    assert server.heard == [LockLost()]
    server.undone, server.strangers = [(1,)], [(9,)]
    server.session.return_()
    assert server.asked == ["lock", "own", "epoch", "reassert", "return"]
    assert server.heard == [LockLost(), LockHeld()]
    reassert, strangers = server.session.ran[-2:]
    assert reassert.params == {"ids": [1, 2], "claims": [TOKEN] * 2, "stages": ["a", "a"]}
    assert strangers.params == {"first": 7 << 40, "beyond": 8 << 40, "ids": [1, 2], "claims": [TOKEN] * 2}


def test_a_claim_for_which_only_a_write_is_owed_is_held_but_not_made_again(clock: Clock) -> None:
    server = Server(clock)
    server.leader()
    server.holdings[0].place = Place.OWED
    server.session.lose()
    server.session.return_()
    reassert, strangers = server.session.ran[-2:]
    assert reassert.params["ids"] == [2]
    assert strangers.params["ids"] == [1, 2]


def test_our_own_former_session_may_hold_the_lock_for_a_while(clock: Clock) -> None:
    server = Server(clock)
    server.leader()
    server.session.lose()
    server.free_after = 3
    server.session.return_()
    clock.pump([0.5] * 2)
    assert server.heard == [LockLost()]
    clock.pump([0.5])
    assert server.heard == [LockLost(), LockHeld()]
    ended = [statement.params for statement in server.session.ran if "pg_terminate_backend" in statement.text]
    assert ended
    assert all((params["pid"], params["since"]) == OWN for params in ended), "nobody else's session is ended"


def test_another_epoch_means_that_this_dispatcher_was_replaced(clock: Clock) -> None:
    server = Server(clock)
    server.leader()
    server.session.lose()
    server.epoch = 8
    server.session.return_()
    assert [type(event) for event in server.heard] == [LockLost, Fenced]
    assert "reassert" not in server.asked
    assert "return" not in server.asked


def test_another_dispatcher_that_takes_the_lock_while_we_wait_for_it_is_noticed(clock: Clock) -> None:
    server = Server(clock)
    server.leader()
    server.session.lose()
    server.free_after = 1e9
    server.session.return_()
    clock.pump([0.5] * 4)
    server.epoch = 8
    clock.pump([0.5])
    assert [type(event) for event in server.heard] == [LockLost, Fenced]


def test_a_session_lost_again_in_the_middle_starts_over_with_the_next(clock: Clock) -> None:
    server = Server(clock)
    server.leader()
    server.session.lose()
    server.error = Unavailable("lost again")
    server.session.return_()
    assert server.heard == [LockLost()]
    server.error = None
    server.session.return_()
    assert server.heard == [LockLost(), LockHeld()]


def test_a_refusal_on_the_way_back_is_told_and_a_new_session_tried(clock: Clock) -> None:
    server = Server(clock)
    server.leader()
    server.session.lose()
    server.error = Refused("permission denied", Fault.OTHER)
    with capturedLogs() as logged:
        server.session.return_()
    assert server.session.dropped
    assert "permission denied" in logged[0]["why"]


def test_once_stopped_it_does_not_take_the_lock_any_more(clock: Clock) -> None:
    server = Server(clock)
    server.leader()
    server.session.lose()
    server.free_after = 3
    server.session.return_()
    server.leadership.stop()
    assert not clock.getDelayedCalls()
    assert server.heard == [LockLost()]
