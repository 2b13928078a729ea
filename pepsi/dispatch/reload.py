"""Takes over a configuration that was changed, while mail flows.

What is asked for while a reload is under way is answered by one more when that is done: a storm of notifications is a
handful of reloads, and the last one reads what was written last.
"""

import enum
import random
from collections.abc import Callable, Iterator

from twisted.internet import defer, task
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from pepsi.config import difference
from pepsi.config.load import Config
from pepsi.db import claims
from pepsi.db.overlay import Overlay, overlaid, overlay
from pepsi.errors import EX_CONFIG, EX_ERROR, ConfigError, DatabaseError
from pepsi.reactor.session import Refused, Session
from pepsi.sched.backoff import delay, jittered
from pepsi.sched.events import ConfigChanged, Event, WorkersOutdated

SPACING = 1.0
"""Seconds from one reload to the next at least: each makes every worker be replaced."""
LONGEST_DELAY = 10.0
"""Seconds at most between two attempts to read what the database has of the configuration."""
MOST_LINES = 200
"""Of a difference that are logged."""


class Wanted(enum.Enum):
    """What is to be done."""

    RELOAD = "read all of it again, and let every worker do so"
    COMPARE = "do so if the part in the database is not what it was"
    RENEW = "let every worker read it again"


class Reload:
    """Reads the configuration again when told to, and hands it to the engine.

    *read* makes a configuration of the file and what the database has, or raises ConfigError; then *broken* is called
    with the reason and an exit status: to go on would mean to route by one configuration while new workers run by
    another. *config* and *known* are the configuration that the dispatcher was started with, and the database's part of
    it.
    """

    log = Logger()

    def __init__(
        self,
        reactor: IReactorTime,
        session: Session,
        read: Callable[[Overlay], Config],
        config: Config,
        known: Overlay,
        report: Callable[[Event], None],
        broken: Callable[[str, int], None],
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._reactor = reactor
        self._session = session
        self._read = read
        self._first = self._config = config
        self._known = known
        self._report = report
        self._broken = broken
        self._chance = chance
        self._wanted: set[Wanted] = set()
        self._running: defer.Deferred[None] | None = None
        self._stopped = False

    def want(self, what: Wanted) -> None:
        """Do *what* as soon as may be; harmless when repeated."""
        self._wanted.add(what)
        if self._running is None and not self._stopped:
            self._running = defer.ensureDeferred(self._run())
            self._running.addErrback(self._failed)

    def stop(self) -> None:
        """Do nothing more."""
        self._stopped = True
        if self._running is not None:
            self._running.cancel()

    async def tell_unknown_stages(self) -> None:
        """Log how much mail waits at stages that are not configured: nobody claims it."""
        try:
            rows = await self._session.run(claims.unknown_stages(self._config.stages))
        except DatabaseError as error:
            self.log.warn("mail at unknown stages cannot be counted: {why}", why=str(error))
            return
        for stage, count in rows:
            self.log.warn(
                "{count} messages wait at {stage!r}, which has no section [stage-{stage}]", count=count, stage=stage
            )

    async def _run(self) -> None:
        failures = 0
        while self._wanted and not self._stopped:
            wanted, self._wanted = self._wanted, set()
            try:
                await self._do(wanted)
            except DatabaseError as error:
                # What cannot be read is no new configuration.
                self._wanted |= wanted
                failures += 1
                if failures == 1:
                    level = self.log.error if isinstance(error, Refused) else self.log.warn
                    level("the configuration in the database cannot be read, the present one stays: {why}", why=error)
                pause = jittered(delay(failures, SPACING, LONGEST_DELAY), self._chance)
            else:
                failures, pause = 0, SPACING
            await task.deferLater(self._reactor, pause)
        self._running = None

    async def _do(self, wanted: set[Wanted]) -> None:
        if wanted == {Wanted.RENEW}:
            self.log.info("every worker is replaced")
            self._report(WorkersOutdated())
            return
        known = overlaid(await self._session.run(overlay()))
        if known == self._known and Wanted.RELOAD not in wanted:
            if Wanted.RENEW in wanted:
                self._report(WorkersOutdated())
            return
        try:
            config = self._read(known)
        except ConfigError as error:
            self._stopped = True
            self._broken(f"the configuration was changed and is wrong now:\n{error}", EX_CONFIG)
            return
        self._tell(config)
        self._config, self._known = config, known
        self._report(ConfigChanged(config.specs))
        await self.tell_unknown_stages()

    def _tell(self, config: Config) -> None:
        changes = list(self._changes(config))
        for change in changes[:MOST_LINES]:
            self.log.info("configuration: {change}", change=change)
        if len(changes) > MOST_LINES:
            self.log.info("configuration: and {count} more changes", count=len(changes) - MOST_LINES)
        self.log.info(
            "configuration read again, {what}; every worker is replaced",
            what="nothing has changed" if not changes else f"{len(changes)} change{'s' * (len(changes) != 1)}",
        )
        for change in self._later(config):
            self.log.warn("configuration: {change}; this waits for a restart of the dispatcher", change=change)
        for warning in config.warnings:
            if warning not in self._config.warnings:
                self.log.warn("{warning}", warning=warning)

    def _changes(self, config: Config) -> Iterator[str]:
        yield from difference.settings("pepsi", self._config.pepsi, config.pepsi)
        for line in difference.settings("pepsi-dispatch", self._config.dispatch, config.dispatch):
            if _is_hot(line):
                yield line
        yield from difference.stages(self._config, config)

    def _later(self, config: Config) -> Iterator[str]:
        """Yield what is in the file and has no effect, compared with what is in effect since the start."""
        yield from difference.settings("pepsi-postgres", self._first.postgres, config.postgres)
        for line in difference.settings("pepsi-dispatch", self._first.dispatch, config.dispatch):
            if not _is_hot(line):
                yield line

    def _failed(self, failure: Failure) -> None:
        if not isinstance(failure.value, defer.CancelledError):
            self.log.failure("the configuration cannot be taken over", failure)
            self._broken("the configuration cannot be taken over", EX_ERROR)


def _is_hot(line: str) -> bool:
    # Every stage without a MAX_RUNTIME of its own has it, and so have the workers, that read the file at their start.
    return line.startswith("[pepsi-dispatch] MAX_RUNTIME:")
