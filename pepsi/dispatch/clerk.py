"""Carries out what the engine wants of the database, and reports back.

Claims go over the session that holds the lock; all else goes over the session for writes, so that a claim that waits
does not keep a strike from being written.
"""

from collections.abc import Callable

from twisted.logger import Logger

from pepsi.db import claims, statistics
from pepsi.db.faults import Fault
from pepsi.errors import DatabaseError
from pepsi.reactor.session import Refused, Session
from pepsi.sched import commands, events
from pepsi.sched.events import Event


class Clerk:
    """One method for each command; each reports exactly one event when it is done, whatever happened."""

    log = Logger()

    def __init__(self, epoch: int, locked: Session, writes: Session, report: Callable[[Event], None]) -> None:
        self._epoch = epoch
        self._locked = locked
        self._writes = writes
        self._report = report

    async def claim(self, command: commands.Claim) -> None:
        """Claimed, or ClaimFailed."""
        try:
            rows = await self._locked.run(claims.claim(command))
        except Refused as error:
            self.log.error("the claim was refused: {why}", why=str(error))
            if error.fault is Fault.CANCELLED:
                # Somebody holds a lock on the table, or the server is slow. It was not done, and the session is sound.
                self._report(events.ClaimFailed(unknown=False))
                return
            # Whether it was done is known, but why it fails is not: a new session starts from what is certain.
            self._report(events.ClaimFailed())
            self._locked.drop("its claim was refused")
        except DatabaseError:
            self._report(events.ClaimFailed())
        else:
            self._report(claims.claimed(command, rows))

    async def settle(self, command: commands.Settle) -> None:
        """Settled, or SettleFailed."""
        try:
            locked = await self._writes.run(claims.settle(command.settlements))
        except DatabaseError as error:
            self._complain("writing what became of messages", error)
            self._report(events.SettleFailed(str(error), refused=_is_final(error)))
        else:
            self._report(events.Settled(locked=tuple(row[0] for row in locked)))

    async def ask_due(self) -> None:
        """DueIn, or DueFailed."""
        try:
            rows = await self._writes.run(claims.next_due())
        except DatabaseError as error:
            self._complain("asking for due messages", error)
            self._report(events.DueFailed())
        else:
            self._report(events.DueIn(rows[0][0] if rows else None))

    async def flip_due(self, limit: int) -> None:
        """Flipped, or DueFailed."""
        try:
            rows = await self._writes.run(claims.flip_due(limit))
        except DatabaseError as error:
            self._complain("waking due messages", error)
            self._report(events.DueFailed())
        else:
            self._report(events.Flipped(tuple(row[0] for row in rows)))

    async def ask_running(self, look: int) -> None:
        """RunningRows; nothing when the database does not answer: the next heartbeat asks again."""
        try:
            rows = await self._writes.run(claims.running_rows())
        except DatabaseError as error:
            self._complain("looking for strays", error)
        else:
            self._report(events.RunningRows(look=look, rows=claims.running(rows)))

    async def flush(self, command: commands.Flush) -> None:
        """Flushed, or FlushFailed."""
        try:
            await self._writes.run(statistics.flush(self._epoch, command.number, command.deltas))
        except DatabaseError as error:
            self._complain("writing statistics", error)
            self._report(events.FlushFailed())
        else:
            self._report(events.Flushed())

    async def sweep(self, limit: int) -> None:
        """Swept."""
        try:
            ((count,),) = await self._writes.run(statistics.sweep(limit))
        except DatabaseError as error:
            self._complain("sweeping up bodies", error)
            self._report(events.Swept(more=True))
        else:
            if count:
                self.log.info("swept up {count} bodies that no message refers to", count=count)
            self._report(events.Swept(more=count >= limit))

    def _complain(self, what: str, error: DatabaseError) -> None:
        if isinstance(error, Refused):
            self.log.error("{what} was refused: {why}", what=what, why=str(error))


def _is_final(error: DatabaseError) -> bool:
    """Whether writing the same again would be refused again."""
    return isinstance(error, Refused) and error.fault is Fault.DATA
