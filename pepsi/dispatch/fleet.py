"""All worker processes, by number: starts them, hands them ids, and makes them end."""

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping

from twisted.internet.interfaces import IDelayedCall, IReactorProcess, IReactorTime

from pepsi.dispatch.process import WorkerProcess
from pepsi.dispatch.program import Launch
from pepsi.errors import StageError
from pepsi.sched.events import Event, WorkerGone, WorkerNotStarted

GRACE = 20.0
"""Seconds that a worker has to finish the message in hand once it was told to stop: less than the engine waits."""
RETIREMENT = 30.0
"""Seconds that a worker may take to end after its standard input was closed."""


class Fleet:
    """Carries out what the engine decides about workers. *prepare* says how a stage's program is started."""

    def __init__(
        self,
        spawner: IReactorProcess,
        clock: IReactorTime,
        prepare: Callable[[str], Launch],
        report: Callable[[Event], None],
    ) -> None:
        self._spawner = spawner
        self._clock = clock
        self._prepare = prepare
        self._report = report
        self._processes: dict[int, WorkerProcess] = {}
        self._alarms: dict[int, IDelayedCall] = {}

    def start(self, number: int, stage: str) -> None:
        """Start worker *number* of *stage*. A program that cannot be started is reported, not raised."""
        try:
            what = self._prepare(stage)
            process = WorkerProcess(self._clock, number, stage, self._heard, own_group=what.own_group)
            environment: Mapping[str, str] = what.environment
            with _clean_signal_mask():
                self._spawner.spawnProcess(process, what.executable, list(what.arguments), environment)
        except (OSError, StageError) as error:
            self._report(WorkerNotStarted(number, str(error)))
            return
        self._processes[number] = process

    def hand(self, number: int, ids: tuple[int, ...]) -> None:
        """Write *ids* to a worker."""
        process = self._processes.get(number)
        if process is not None:
            process.hand(ids)

    def retire(self, number: int) -> None:
        """Let a worker that holds nothing end by itself."""
        self._end(number, WorkerProcess.retire, RETIREMENT)

    def stop(self, number: int) -> None:
        """Let a worker finish the message in hand, and kill it if that takes too long."""
        self._end(number, WorkerProcess.terminate, GRACE)

    def kill(self, number: int) -> None:
        """Kill a worker at once."""
        process = self._processes.get(number)
        if process is not None:
            process.kill()

    def kill_all(self) -> None:
        """Kill every worker at once, without waiting for their end."""
        for process in self._processes.values():
            process.kill()

    def _end(self, number: int, how: Callable[[WorkerProcess], None], patience: float) -> None:
        process = self._processes.get(number)
        if process is None:
            return
        how(process)
        alarm = self._alarms.get(number)
        if alarm is None or not alarm.active():
            self._alarms[number] = self._clock.callLater(patience, process.kill)
        elif alarm.getTime() > self._clock.seconds() + patience:
            alarm.reset(patience)

    def _heard(self, event: Event) -> None:
        if isinstance(event, WorkerGone):
            self._processes.pop(event.worker, None)
            alarm = self._alarms.pop(event.worker, None)
            if alarm is not None and alarm.active():
                alarm.cancel()
        self._report(event)


@contextlib.contextmanager
def _clean_signal_mask() -> Iterator[None]:
    """Let what is started in here inherit no blocked signal: a worker that blocks SIGTERM would not end."""
    former = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
