"""The store that puts messages straight into PostgreSQL, all that came in while the last lot was put in at once."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from pepsi.db.faults import Fault
from pepsi.db.inject import insert
from pepsi.errors import DatabaseError
from pepsi.ingress.store import Store, Unavailable
from pepsi.model.envelope import Arrival
from pepsi.model.text import one_line
from pepsi.reactor.session import Refused, Session

BATCH_COUNT = 500
BATCH_BYTES = 4 * 2**20
"""Bounds of one transaction; a message that is larger than that goes alone."""
LARGE = 2**20
"""Bytes from which a message is large: it takes long enough that others notice."""


class BySize:
    """Stores *large* messages by one store and all others by another, so that none of these waits for one of those."""

    def __init__(self, others: Store, large: Store) -> None:
        self._others = others
        self._large = large

    def submit(self, arrival: Arrival) -> Deferred[int]:
        """Keep *arrival*, see ``pepsi.ingress.store.Store``."""
        return (self._large if len(arrival.message) >= LARGE else self._others).submit(arrival)


@dataclass(frozen=True, slots=True)
class _Waiting:
    arrival: Arrival
    answer: Deferred[int] = field(default_factory=Deferred)


class Inserter:
    """Puts messages in at *stage* over *session*, whose commits must be synchronous.

    One statement, and so one transaction and one notification, is under way at a time. A connection on which it takes
    longer than *timeout* seconds is given up.
    """

    log = Logger()

    def __init__(self, reactor: IReactorTime, session: Session, stage: str, timeout: float) -> None:
        self._reactor = reactor
        self._session = session
        self._stage = stage
        self._timeout = timeout
        self._waiting: deque[_Waiting] = deque()
        self._running = False
        self._failing = False

    def submit(self, arrival: Arrival) -> Deferred[int]:
        """Keep *arrival*, see ``pepsi.ingress.store.Store``."""
        waiting = _Waiting(arrival)
        self._waiting.append(waiting)
        if not self._running:
            self._running = True
            # Not at once: what the other sessions bring in this round of the reactor comes along.
            self._reactor.callLater(0, self._start)
        return waiting.answer

    def _start(self) -> None:
        running = ensureDeferred(self._run())
        running.addErrback(lambda failure: self.log.failure("the inserter stopped", failure))

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._put(self._batch())
        finally:
            self._running = False

    def _batch(self) -> list[_Waiting]:
        batch = [self._waiting.popleft()]
        size = len(batch[0].arrival.message)
        while self._waiting and len(batch) < BATCH_COUNT:
            size += len(self._waiting[0].arrival.message)
            if size > BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _put(self, batch: Sequence[_Waiting]) -> None:
        """Put all of *batch* in and answer each, whatever happens."""
        alarm = self._reactor.callLater(self._timeout, self._session.drop, "it does not answer")
        try:
            numbers = await self._insert([waiting.arrival for waiting in batch])
        except Refused as error:
            if len(batch) == 1 or error.fault not in (Fault.DATA, Fault.OTHER):
                _fail(batch, str(error))
                self.log.error("{count} messages not stored: {why}", count=len(batch), why=one_line(str(error)))
                return
            # One message that the database cannot take must not keep the others out.
            self.log.warn("storing {count} messages one by one: {why}", count=len(batch), why=one_line(str(error)))
            for waiting in batch:
                await self._put([waiting])
        except DatabaseError as error:
            _fail(batch, str(error))
            # Once is enough: each message has its own line in the log of the sessions.
            log = self.log.debug if self._failing else self.log.warn
            log("{count} messages not stored: {why}", count=len(batch), why=one_line(str(error)))
            self._failing = True
        except Exception:  # noqa: BLE001 - each client must get an answer, and the log has the fault.
            self.log.failure("{count} messages not stored", count=len(batch))
            _fail(batch, "a fault of our own")
        else:
            self._failing = False
            for waiting, number in zip(batch, numbers, strict=True):
                waiting.answer.callback(number)
        finally:
            if alarm.active():
                alarm.cancel()

    async def _insert(self, arrivals: Sequence[Arrival]) -> list[int]:
        rows = await self._session.run(insert(arrivals, self._stage))
        if len(rows) != len(arrivals):
            raise AssertionError(f"{len(rows)} ids for {len(arrivals)} messages")
        return [int(number) for (number,) in rows]


def _fail(batch: Sequence[_Waiting], why: str) -> None:
    for waiting in batch:
        waiting.answer.errback(Unavailable(why))
