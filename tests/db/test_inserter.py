"""The store of the door: batches into PostgreSQL, and an honest answer for every message."""

import select
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from pepsi.db.session import Parameters
from pepsi.ingress.inserter import BATCH_BYTES, BATCH_COUNT, Inserter
from pepsi.ingress.store import Unavailable
from pepsi.model.envelope import Arrival
from pepsi.reactor.session import Session
from tests.support_database import Database
from tests.support_reactor import with_timeout


def arrival(number: int = 0, **given: Any) -> Arrival:
    values: dict[str, Any] = {
        "mail_from": f"a{number}@there.example",
        "recipients": ("b@here.example",),
        "message": b"Subject: %d\r\n\r\nx\r\n" % number,
        "peer": "192.0.2.1",
    }
    return Arrival(**values | given)


class Rig:
    """An inserter on a real database, whose table can be held shut."""

    def __init__(self, database: Database) -> None:
        self.database = database
        parameters = Parameters(dsn=database.dsn, application_name="pepsi-test-inserter")
        self.session = Session(reactor, parameters, "test", chance=lambda: 0.0)
        self.store = Inserter(reactor, self.session, "entry", 60.0)
        self._holder = database.connect()

    def hold(self) -> None:
        """Let nobody put anything in before ``release``."""
        with self._holder.cursor() as cursor:
            cursor.execute("BEGIN; LOCK TABLE pepsi.workqueue IN ACCESS EXCLUSIVE MODE")

    def release(self) -> None:
        with self._holder.cursor() as cursor:
            cursor.execute("COMMIT")

    def transactions(self) -> list[int]:
        """How many messages each transaction put in, in their order."""
        rows = self.database.rows("SELECT count(*) FROM pepsi.workqueue GROUP BY xmin ORDER BY min(workqueue_id)")
        return [count for (count,) in rows]


@pytest_twisted.async_yield_fixture
async def rig(database: Database) -> AsyncIterator[Rig]:
    made = Rig(database)
    await made.session.open()
    yield made
    await made.session.stop()


def turn() -> Deferred[None]:
    """Let the reactor go round once."""
    done: Deferred[None] = Deferred()
    reactor.callLater(0, done.callback, None)
    return done


async def all_of(answers: list[Deferred[int]]) -> list[int]:
    return [await answer for answer in answers]


async def under_way(rig: Rig, first: Arrival) -> Deferred[int]:
    """Submit *first* so that it is on its way to a table that is held shut."""
    rig.hold()
    answer = rig.store.submit(first)
    await turn()
    await turn()
    return answer


@with_timeout()
async def test_all_that_comes_while_a_batch_is_under_way_is_one_transaction_and_one_notification(rig: Rig):
    listener = rig.database.connect()
    with listener.cursor() as cursor:
        cursor.execute("LISTEN workqueue")
    first = await under_way(rig, arrival(0))
    others = [rig.store.submit(arrival(number)) for number in range(1, 40)]
    rig.release()
    ids = await all_of([first, *others])
    assert ids == sorted(ids)
    subjects = dict(rig.database.rows("SELECT workqueue_id, subject FROM pepsi.workqueue"))
    assert subjects == {number: str(place) for place, number in enumerate(ids)}
    assert rig.transactions() == [1, 39]
    while len(listener.notifies) < 2:
        assert select.select([listener], [], [], 5) != ([], [], [])
        listener.poll()
    assert select.select([listener], [], [], 0) == ([], [], [])
    assert len(listener.notifies) == 2


@with_timeout()
async def test_what_comes_in_one_round_of_the_reactor_goes_in_together(rig: Rig):
    await all_of([rig.store.submit(arrival(number)) for number in range(5)])
    assert rig.transactions() == [5]


@with_timeout(30)
async def test_a_batch_is_bounded_in_number_and_in_bytes(rig: Rig):
    await all_of([rig.store.submit(arrival(number)) for number in range(BATCH_COUNT + 3)])
    large = b"x" * (BATCH_BYTES // 2 + 1)
    await all_of([rig.store.submit(arrival(message=large)) for _ in range(2)])
    await rig.store.submit(arrival(message=b"x" * (BATCH_BYTES + 1)))
    assert rig.transactions() == [BATCH_COUNT, 3, 1, 1, 1]


@with_timeout()
async def test_a_message_that_the_database_cannot_take_does_not_keep_the_others_out(
    rig: Rig, clean_reactor: list[dict[str, Any]]
):
    answers = [rig.store.submit(arrival(number)) for number in range(3)]
    bad = rig.store.submit(arrival(peer="no address"))
    answers += [rig.store.submit(arrival(3))]
    assert len(await all_of(answers)) == 4
    with pytest.raises(Unavailable):
        await bad
    assert "inet" in clean_reactor[0]["why"]
    clean_reactor.clear()
    assert sum(rig.transactions()) == 4


@with_timeout()
async def test_without_a_database_nothing_is_stored_and_with_one_again_it_is(database: Database):
    rig = Rig(database)
    with pytest.raises(Unavailable):
        await rig.store.submit(arrival())
    await rig.session.open()
    await rig.store.submit(arrival())
    assert rig.transactions() == [1]
    await rig.session.stop()


async def _lost(rig: Rig, lose: Callable[[], None]) -> None:
    up: Deferred[None] = Deferred()
    rig.session.on_up(lambda: None if up.called else up.callback(None))
    first = await under_way(rig, arrival())
    second = rig.store.submit(arrival())
    lose()
    for answer in (first, second):
        with pytest.raises(Unavailable):
            await answer
    rig.release()
    await up
    await rig.store.submit(arrival())


@with_timeout()
async def test_a_commit_of_unknown_outcome_is_not_called_a_success(rig: Rig):
    backend = rig.session.backend
    await _lost(rig, lambda: rig.database.rows("SELECT pg_terminate_backend(%(pid)s)", pid=backend))


@with_timeout()
async def test_a_database_that_does_not_answer_is_given_up_in_time(rig: Rig):
    rig.store = Inserter(reactor, rig.session, "entry", 0.1)
    await _lost(rig, lambda: None)


@with_timeout()
async def test_a_fault_of_our_own_is_answered_too(rig: Rig, clean_reactor: list[dict[str, Any]]):
    with pytest.raises(Unavailable):
        await rig.store.submit(arrival(state={"x": object()}))
    assert clean_reactor
    clean_reactor.clear()
    await rig.store.submit(arrival())
