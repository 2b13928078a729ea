"""The thin adapter around the engine: reactor callbacks become events, commands become calls."""

from collections.abc import Callable, Coroutine
from typing import Any, assert_never

from twisted.internet import defer
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger, LogLevel
from twisted.python.failure import Failure

from pepsi.dispatch.clerk import Clerk
from pepsi.dispatch.fleet import Fleet
from pepsi.sched import commands
from pepsi.sched.commands import Command
from pepsi.sched.engine import Engine
from pepsi.sched.events import Claimed, ClaimFailed, Event, Tick
from pepsi.sched.meters import Meters


class Coordinator:
    """Feeds the engine and carries out what it returns. *on_exit* is called once, with the exit status.

    *watch* looks at the queue's table once. *meters* take what is measured here; *on_turn* is called at the end of each
    turn that went well.

    Events are gathered until the reactor has read every pipe that it was going to read, and are then handled together:
    one claim answers all of them.
    """

    log = Logger()

    def __init__(
        self,
        reactor: IReactorTime,
        clock: Callable[[], float],
        engine: Engine,
        clerk: Clerk,
        fleet: Fleet,
        on_exit: Callable[[int], None],
        *,
        meters: Meters | None = None,
        watch: Callable[[], Coroutine[defer.Deferred[Any], Any, None]],
        on_turn: Callable[[], None] = lambda: None,
    ) -> None:
        self._reactor = reactor
        self._clock = clock
        self._engine = engine
        self._clerk = clerk
        self._fleet = fleet
        self._on_exit = on_exit
        self._meters = Meters() if meters is None else meters
        self._watch = watch
        self._on_turn = on_turn
        self._claim_began = 0.0
        self._inbox: list[Event] = []
        self._turn_due: IDelayedCall | None = None
        self._alarm: IDelayedCall | None = None
        self._alarm_at = 0.0
        self._over = False

    def post(self, event: Event) -> None:
        """Something happened."""
        if self._over:
            return
        self._measure(event)
        self._inbox.append(event)
        if self._turn_due is None:
            self._turn_due = self._reactor.callLater(0, self._turn)

    def _turn(self) -> None:
        self._turn_due = None
        happened, self._inbox = self._inbox, []
        now = self._clock()
        try:
            for command in self._engine.handle(happened, now):
                self._carry_out(command)
        except Exception:  # noqa: BLE001 - nothing goes on after it
            # A fault in our own logic. What the engine holds is not to be trusted any more; a new dispatcher starts
            # from what is in the database.
            self._broken(Failure())  # type: ignore[no-untyped-call]
            return
        self._meters.turn_seconds.observe(max(0.0, self._clock() - now))
        if not self._over:
            self._set_alarm(now)
            self._on_turn()

    def _measure(self, event: Event) -> None:
        if isinstance(event, ClaimFailed):
            self._meters.claims_failed += 1
        elif isinstance(event, Claimed):
            self._meters.claim_seconds.observe(max(0.0, self._clock() - self._claim_began))
            self._meters.claim_rows.observe(len(event.rows))

    def _carry_out(self, command: Command) -> None:
        match command:
            case commands.Hand(worker, ids):
                self._fleet.hand(worker, ids)
            case commands.Claim():
                self._claim_began = self._clock()
                self._do(self._clerk.claim(command))
            case commands.Start():
                self._fleet.start(command.worker, command.stage)
            case commands.Retire(worker):
                self._fleet.retire(worker)
            case commands.Stop(worker):
                self._fleet.stop(worker)
            case commands.Kill(worker):
                self._fleet.kill(worker)
            case commands.Settle():
                self._do(self._clerk.settle(command))
            case commands.AskDue():
                self._do(self._clerk.ask_due())
            case commands.FlipDue(limit):
                self._do(self._clerk.flip_due(limit))
            case commands.AskRunning(look):
                self._do(self._clerk.ask_running(look))
            case commands.Flush():
                self._do(self._clerk.flush(command))
            case commands.Sweep(limit):
                self._do(self._clerk.sweep(limit))
            case commands.Inspect():
                self._do(self._watch())
            case commands.Note(level, text, facts):
                self.log.emit(LogLevel.levelWithName(level.value), text, **facts)
            case commands.Exit(status):
                self._end(status)
            case _:
                assert_never(command)

    def _do(self, work: Coroutine[defer.Deferred[Any], Any, None]) -> None:
        defer.ensureDeferred(work).addErrback(self._broken)

    def _set_alarm(self, now: float) -> None:
        wake = self._engine.next_wake
        if self._alarm is not None and self._alarm.active():
            if self._alarm_at <= wake:
                return  # it rings too early, which costs less than to set it anew at each turn
            self._alarm.cancel()
        self._alarm_at = wake
        self._alarm = self._reactor.callLater(max(0.0, wake - now), self._ring)

    def _ring(self) -> None:
        # Not at once: pipes that can be read by now are read first, so that an answer that lies there is not a hang.
        self._alarm = self._reactor.callLater(0, self.post, Tick())

    def _broken(self, failure: Failure) -> None:
        self.log.failure("the dispatcher is broken and ends", failure)
        try:
            self._fleet.kill_all()
        finally:
            self._end(1)

    def _end(self, status: int) -> None:
        if self._over:
            return
        self._over = True
        for call in (self._alarm, self._turn_due):
            if call is not None and call.active():
                call.cancel()
        self._on_exit(status)
