"""Gives back what a former dispatcher left running, once none of its workers can still be at it."""

from collections.abc import Callable

from twisted.internet import task
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from pepsi.db import leadership
from pepsi.errors import DatabaseError
from pepsi.reactor.session import Refused, Session, Unavailable
from pepsi.sched.events import Event, FormerReturned, Wake, Woken

PATIENCE = 90.0
"""Seconds that former workers have to go."""
GRACE = 5.0
"""Seconds of these that they have to end by themselves: one whose dispatcher died finishes the message in hand, and the
end of its session would not keep it from acting on it, but only from saying so."""
STEP = 0.5


class Recovery:
    """Runs once at the start, beside the new mail. *session* is the one for writes."""

    log = Logger()

    def __init__(self, reactor: IReactorTime, session: Session, epoch: int, report: Callable[[Event], None]) -> None:
        self._reactor = reactor
        self._session = session
        self._epoch = epoch
        self._report = report

    async def run(self) -> None:
        """Wait until the sessions of former workers are gone, then give their rows back.

        A row is fenced by its claim token in any case; what is waited for is that its former worker is not in the
        middle of delivering it. Goes on through database outages.
        """
        await self._end_workers()
        await self._give_back()
        self._report(FormerReturned())

    async def _end_workers(self) -> None:
        waited, told = 0.0, False
        while waited < PATIENCE:
            try:
                former = await self._session.run(leadership.former_workers())
                if not former:
                    return
                if not told:
                    told = True
                    names = sorted({name for _, name in former})
                    self.log.warn("workers of a former dispatcher are to end: {names}", names=names)
                if waited >= GRACE:
                    await self._session.run(leadership.end_former_workers())
            except Unavailable:
                waited -= STEP  # an outage is no time in which they could have gone
            except Refused as error:
                if waited <= GRACE:
                    self.log.warn("workers of a former dispatcher cannot be ended: {why}", why=str(error))
            await task.deferLater(self._reactor, STEP)
            waited += STEP
        self.log.error(
            "after {seconds:g} s sessions of a former dispatcher's workers are still there; their messages are taken "
            "up all the same",
            seconds=PATIENCE,
        )

    async def _give_back(self) -> None:
        total = 0
        while True:
            try:
                rows = await self._session.run(leadership.return_former(self._epoch))
                left = not rows and (await self._session.run(leadership.former_left(self._epoch)))[0][0]
            except DatabaseError as error:
                self.log.warn("messages of a former dispatcher cannot be given back yet: {why}", why=str(error))
                rows, left = [], True
            if rows:
                total += len(rows)
                self._report(Woken(Wake.REPAIR))
            elif not left:
                break
            else:
                await task.deferLater(self._reactor, STEP * 10)
        if total:
            self.log.warn("{count} messages were interrupted with the former dispatcher and wait again", count=total)
