"""Looks at the state of the queue's table now and then, and says who keeps it from being cleaned."""

from collections.abc import Callable

from twisted.logger import Logger, LogLevel

from pepsi.db import housekeeping
from pepsi.errors import DatabaseError
from pepsi.reactor.session import Refused, Session
from pepsi.sched.lookout import Lookout, Sight


class Watch:
    """One look for each heartbeat, over *session*."""

    log = Logger()

    def __init__(self, session: Session, clock: Callable[[], float]) -> None:
        self._session = session
        self._clock = clock
        self._lookout = Lookout()

    @property
    def seen(self) -> Sight | None:
        """What the last look has shown; None before the first."""
        return self._lookout.seen

    async def look(self) -> None:
        """Look once. Without a database there is nothing to see, and the next heartbeat looks again."""
        try:
            (row,) = await self._session.run(housekeeping.oldest_snapshot())
        except DatabaseError as error:
            if isinstance(error, Refused):
                self.log.warn("who holds old snapshots cannot be seen: {why}", why=str(error))
            return
        for note in self._lookout.look(housekeeping.sight(row), self._clock()):
            self.log.emit(LogLevel.levelWithName(note.level.value), note.text, **note.facts)
