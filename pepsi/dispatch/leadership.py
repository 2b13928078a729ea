"""There is one dispatcher to a database: its lock, its epoch, and what is set right before it claims (I1, I2).

The lock belongs to a session of the server, and the claims are made on that same session: a claim that was committed
proves that the lock was held.
"""

from collections.abc import Callable

from twisted.internet import defer, task
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from pepsi.db import leadership
from pepsi.db.faults import Fault
from pepsi.errors import DatabaseError, PepsiError
from pepsi.reactor.session import Refused, Session, Unavailable
from pepsi.sched.events import Event, Fenced, LockHeld, LockLost
from pepsi.sched.held import Held, Place

PATIENCE = 10.0
"""Seconds that a start waits for the lock: as long as a dispatcher that is being replaced may need to go."""
RETRY = 0.5


class LockTaken(PepsiError):
    """Another dispatcher works on this database."""


class Pooled(PepsiError):
    """The DSN leads to a pooler that hands out another session for each transaction."""

    def __init__(self) -> None:
        super().__init__(
            "the DSN leads to a transaction pooler, where neither the dispatcher's lock nor LISTEN works; "
            "give the address of the server itself, or of a pool in session mode"
        )


async def refuse_shared(one: Session, other: Session) -> None:
    """Raise Pooled if two sessions are one at the server, as behind a pooler that gives each what is idle just now."""
    if await one.run(leadership.same_backend()) == await other.run(leadership.same_backend()):
        raise Pooled


class Leadership:
    """Holds the lock on *session*, and tells the engine when it is lost, held again, or somebody else's.

    *holdings* returns the claims held at the moment.
    """

    log = Logger()

    def __init__(
        self,
        reactor: IReactorTime,
        session: Session,
        report: Callable[[Event], None],
        holdings: Callable[[], list[Held]],
    ) -> None:
        self._reactor = reactor
        self._session = session
        self._report = report
        self._holdings = holdings
        self._epoch: int | None = None
        self._locked_by: tuple[int, str] | None = None
        """The session that held the lock last, as the server knows it."""
        self._regaining: defer.Deferred[None] | None = None
        self.held = False
        """Whether the lock is known to be held, and claims may be made."""

    async def take(self, *, standby: bool = False) -> int:
        """Take the lock and begin an epoch; return its number.

        Waits for PATIENCE, on *standby* without limit and through outages of the database. Raises LockTaken with the
        name of the holder, Pooled, and DatabaseError.
        """
        await self._refuse_pooler()
        waited = 0.0
        while True:
            try:
                epoch = await self._begin()
                if epoch is not None:
                    break
                if waited == 0.0:
                    self.log.info("waiting for the dispatcher's lock, {holder}", holder=await self._holder())
                if waited >= PATIENCE and not standby:
                    raise LockTaken(f"another dispatcher works on this database: the lock is {await self._holder()}")
            except Unavailable:
                if not standby:
                    raise
            await task.deferLater(self._reactor, RETRY)
            waited += RETRY
        self._epoch = epoch
        self.held = True
        self._session.on_down(self._lost)
        self._session.on_up(self._regain)
        if not self._session.up:
            self._lost()
        return epoch

    def stop(self) -> None:
        """Give up regaining the lock."""
        regaining, self._regaining = self._regaining, None
        if regaining is not None:
            regaining.cancel()

    async def _refuse_pooler(self) -> None:
        first = await self._session.run(leadership.same_backend())
        if first != await self._session.run(leadership.same_backend()):
            raise Pooled

    async def _begin(self) -> int | None:
        """Take the lock if it is free and begin an epoch; return None if it is not."""
        if not await self._lock():
            return None
        # None, too, if the session was lost in between and another one, without the lock, has taken its place.
        return next((int(row[0]) for row in await self._session.run(leadership.raise_epoch())), None)

    async def _lock(self) -> bool:
        if not (await self._session.run(leadership.try_lock()))[0][0]:
            return False
        self._locked_by = (await self._session.run(leadership.own_session()))[0]
        return True

    async def _holder(self) -> str:
        return leadership.holder_of(await self._session.run(leadership.lock_holder()))

    def _lost(self) -> None:
        self.held = False
        self._report(LockLost())

    def _regain(self) -> None:
        self.stop()
        self._regaining = defer.ensureDeferred(self._take_again())
        self._regaining.addErrback(self._not_regained)

    async def _take_again(self) -> None:
        assert self._epoch is not None
        while True:
            # First the lock: an epoch that is read before it can be raised before the lock is ours.
            locked = await self._lock()
            epoch = int((await self._session.run(leadership.present_epoch()))[0][0])
            if epoch != self._epoch:
                self._report(Fenced(f"the database is at epoch {epoch}, this dispatcher's is {self._epoch}"))
                return
            if locked:
                break
            # Most likely our own former session, which the server does not know to be gone.
            if self._locked_by is not None:
                await self._session.run(leadership.end_former_session(*self._locked_by))
            await task.deferLater(self._reactor, RETRY)
        await self._reconciled(self._epoch)
        self.held = True
        self._report(LockHeld())

    async def _reconciled(self, epoch: int) -> None:
        while True:
            try:
                return await self._reconcile(epoch)
            except Refused as error:
                if error.fault is not Fault.CANCELLED:
                    raise
                self.log.warn("the rows cannot be reconciled yet: {why}", why=str(error))
                await task.deferLater(self._reactor, RETRY)

    async def _reconcile(self, epoch: int) -> None:
        """Set right what a crash of the server un-did: claims, and outcomes that workers had committed.

        A claim for which only a write is owed is not made again: that write may be what made the row pending.
        """
        held = self._holdings()
        working = [claim for claim in held if claim.place is not Place.OWED]
        again = await self._session.run(leadership.reassert_claims(working))
        back = await self._session.run(leadership.return_strangers(epoch, held))
        if again or back:
            self.log.warn(
                "the database has lost its last moments: {again} claims made again, {back} messages given back",
                again=len(again),
                back=len(back),
            )

    def _not_regained(self, failure: Failure) -> None:
        if isinstance(failure.value, (Unavailable, defer.CancelledError)):
            return  # lost again, or stopped: the next connection tries again
        if isinstance(failure.value, DatabaseError):
            self.log.error("the dispatcher's lock cannot be taken: {why}", why=failure.getErrorMessage())
            self._session.drop("the lock could not be taken")
            return
        failure.raiseException()
