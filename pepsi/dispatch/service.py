"""The dispatcher as a service: its three database sessions, its engine and the adapters around it."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from twisted.application.service import Service
from twisted.internet import defer
from twisted.internet.interfaces import IReactorProcess, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from pepsi.config.load import Config
from pepsi.db import schema
from pepsi.db.overlay import Overlay, overlaid, overlay
from pepsi.db.session import Parameters
from pepsi.dispatch.clerk import Clerk
from pepsi.dispatch.coordinator import Coordinator
from pepsi.dispatch.fleet import Fleet
from pepsi.dispatch.leadership import Leadership, refuse_shared
from pepsi.dispatch.listener import Listener
from pepsi.dispatch.program import Launch, launch
from pepsi.dispatch.pulse import Pulse
from pepsi.dispatch.recovery import Recovery
from pepsi.dispatch.reload import Reload, Wanted
from pepsi.dispatch.watch import Watch
from pepsi.errors import EX_ERROR, PepsiError, SchemaError
from pepsi.model.stage import StageSpec
from pepsi.reactor.probe import INTERVAL, Probe
from pepsi.reactor.session import Session, Unavailable
from pepsi.reactor.systemd import Manager
from pepsi.sched.engine import Engine
from pepsi.sched.events import Event, LockHeld, StopRequested, Tick
from pepsi.sched.held import Held
from pepsi.sched.meters import Meters
from pepsi.sched.reading import Reading
from pepsi.sched.settings import Settings

PROBE_MARGIN = 10.0
"""Seconds that the server may take beyond its longest statement before a session is taken to be dead."""
LONGEST_CLAIM = 60.0
"""Seconds that a statement of the session with the lock may run, however long others may: by this, the interval of the
probe and its margin a lock that was silently lost is missed at the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a dispatcher is made from.

    *read* returns the configuration of the file with the overlay that the database holds; it may raise ConfigError.
    *config_file* is what workers are told to read, None if nothing; *environ* is what they get, less what is none of
    their business.
    """

    dsn: str
    connect_timeout: float
    statement_timeout: float
    read: Callable[[Overlay], Config]
    settings: Settings
    standby: bool
    config_file: Path | None
    environ: Mapping[str, str]
    probe_interval: float = INTERVAL
    """Seconds between two looks whether a session is still alive."""
    probe_margin: float = PROBE_MARGIN


class DispatchService(Service):
    """Runs one dispatcher. *fail* is called with a reason and an exit status when it cannot go on.

    *manager* is the service manager that is told when mail moves, and fed as long as it does.

    ``startService`` returns at once; whoever wants to know when mail moves adds a callback to ``started``.
    """

    log = Logger()

    def __init__(
        self,
        reactor: IReactorTime,
        spawner: IReactorProcess,
        plan: Plan,
        fail: Callable[[str, int], None],
        *,
        manager: Manager | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._reactor = reactor
        self._spawner = spawner
        self._plan = plan
        self._fail = fail
        self._manager = Manager({}, 0) if manager is None else manager
        self._clock = clock
        self._chance = chance
        self._sessions: list[Session] = []
        self._probes: list[Probe] = []
        self._leadership: Leadership | None = None
        self._engine: Engine | None = None
        self._epoch: int | None = None
        self._coordinator: Coordinator | None = None
        self._early: list[Event] = []
        """What happened before there was a coordinator: that another dispatcher has taken over is said once."""
        self._meters = Meters()
        self._pulse: Pulse | None = None
        self._watch: Watch | None = None
        self._reload: Reload | None = None
        self._starting: defer.Deferred[None] | None = None
        self._recovering: defer.Deferred[None] | None = None
        self._ended: defer.Deferred[None] = defer.Deferred()
        self._stopped: defer.Deferred[None] | None = None
        self.started: defer.Deferred[None] = defer.Deferred()

    def startService(self) -> None:
        """Begin to start; what goes wrong is told to *fail*."""
        super().startService()  # type: ignore[no-untyped-call]
        self._starting = defer.ensureDeferred(self._start())
        self._starting.addErrback(self._not_started)

    def stopService(self) -> defer.Deferred[None]:
        """Stop claiming, end the workers, give back what is in flight; fires when all is done or given up."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._stopped is None:
            self._stopped = defer.ensureDeferred(self._stop())
        return self._stopped

    def reload(self) -> None:
        """Read the configuration again, and have every worker do so. During the start it is about to be read anyway."""
        if self._reload is not None:
            self._reload.want(Wanted.RELOAD)

    def reading(self) -> Reading:
        """What the dispatcher shows of itself now."""
        return Reading(
            epoch=self._epoch,
            sessions={session.name: session.up for session in self._sessions},
            gauges=None if self._engine is None else self._engine.gauges(self._clock()),
            meters=self._meters,
            sight=None if self._watch is None else self._watch.seen,
        )

    async def _start(self) -> None:
        locked = await self._session("lock and claims")
        await _check_schema(locked)
        self._leadership = Leadership(self._reactor, locked, self._post, self._holdings)
        self._manager.tell(STATUS="waiting for the dispatcher's lock")
        epoch = self._epoch = await self._leadership.take(standby=self._plan.standby)
        # Once more, and only now the stages: a standby may have waited for days.
        await _check_schema(locked)
        known = overlaid(await locked.run(overlay()))
        config = self._plan.read(known)
        writes = await self._session("writes")
        await refuse_shared(locked, writes)
        listening = await self._session("listening")
        reload = Reload(
            self._reactor, writes, self._plan.read, config, known, self._post, self._fail, chance=self._chance
        )
        await Listener(listening, self._post, reload.want).listen()
        engine = self._engine = Engine(self._plan.settings, config.specs, epoch, self._clock(), self._chance)
        watch = self._watch = Watch(writes, self._clock)
        pulse = Pulse(self._reactor, self._manager, lambda: self._post(Tick()), lambda: engine.gauges(self._clock()))
        self._coordinator = Coordinator(
            self._reactor,
            self._clock,
            engine,
            Clerk(epoch, locked, writes, self._post),
            Fleet(self._spawner, self._reactor, lambda stage: self._launch(engine.spec(stage), epoch), self._post),
            self._exited,
            meters=self._meters,
            watch=watch.look,
            on_turn=pulse.turned,
        )
        self._pulse = pulse
        pulse.start()
        for event in self._early:
            self._post(event)
        if self._leadership.held:
            self._post(LockHeld())
        self.log.info("dispatching under epoch {epoch} for {stages}", epoch=epoch, stages=", ".join(config.stages))
        self._recovering = defer.ensureDeferred(Recovery(self._reactor, writes, epoch, self._post).run())
        self._recovering.addErrback(self._cancelled)
        self._reload = reload
        # What was changed between the reading and the listening was not heard.
        reload.want(Wanted.COMPARE)
        await reload.tell_unknown_stages()
        self.started.callback(None)

    async def _session(self, name: str) -> Session:
        longest = self._plan.statement_timeout if name == "writes" else min(self._plan.statement_timeout, LONGEST_CLAIM)
        session = Session(
            self._reactor,
            Parameters(
                dsn=self._plan.dsn,
                application_name=f"pepsi-dispatch: {name}",
                connect_timeout=self._plan.connect_timeout,
                statement_timeout=longest,
                synchronous_commit=name == "writes",
            ),
            name,
            chance=self._chance,
        )
        self._sessions.append(session)
        await session.open()
        # Longer than any statement that a question could have to wait for.
        patience = longest + self._plan.probe_margin
        probe = Probe(self._reactor, session, patience=patience, interval=self._plan.probe_interval)
        self._probes.append(probe)
        probe.start()
        return session

    def _launch(self, spec: StageSpec, epoch: int) -> Launch:
        return launch(spec, epoch, self._plan.config_file, self._plan.environ)

    def _holdings(self) -> list[Held]:
        return [] if self._engine is None else self._engine.holdings()

    def _post(self, event: Event) -> None:
        if self._coordinator is not None:
            self._coordinator.post(event)
        elif self._engine is None:
            self._early.append(event)

    def _not_started(self, failure: Failure) -> None:
        if isinstance(failure.value, defer.CancelledError):
            return
        error = failure.value
        if isinstance(error, PepsiError):
            status = error.exit_status if isinstance(error, SchemaError) else EX_ERROR
            mend = "; check [pepsi-postgres] DSN, and whether the server runs" if isinstance(error, Unavailable) else ""
            self._fail(f"{error}{mend}", status)
        else:
            self.log.failure("the dispatcher cannot start", failure)
            self._fail("the dispatcher cannot start", EX_ERROR)

    def _cancelled(self, failure: Failure) -> None:
        if not isinstance(failure.value, defer.CancelledError):
            self.log.failure("giving back the former dispatcher's messages failed", failure)

    def _exited(self, status: int) -> None:
        self._coordinator = None
        if self._pulse is not None:
            self._pulse.stop()
        if self._stopped is None or status != 0:
            self._fail("the dispatcher has ended", status)
        self._ended.callback(None)

    async def _stop(self) -> None:
        if self._reload is not None:
            self._reload.stop()
        for pending in (self._starting, self._recovering):
            if pending is not None:
                pending.cancel()
        self._manager.tell(STOPPING=1)
        if self._coordinator is not None:
            self._coordinator.post(StopRequested())
            await self._ended
        if self._leadership is not None:
            self._leadership.stop()
        for probe in self._probes:
            probe.stop()
        for session in self._sessions:
            await session.stop()


async def _check_schema(session: Session) -> None:
    recorded = await session.run(schema.recorded()) if (await session.run(schema.present()))[0][0] else []
    schema.require(schema.verdict([(row[0], row[1]) for row in recorded], schema.shipped()))
