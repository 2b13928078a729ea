"""One worker process: bytes in and out of its pipes, and the moment when it is really over."""

import contextlib
import os
import signal
from collections.abc import Callable

from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IDelayedCall, IProcessTransport, IReactorTime
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from pepsi.dispatch.chatter import Chatter
from pepsi.model.status import Status
from pepsi.sched.events import Answered, Event, Garbled, WorkerGone, WorkerReady
from pepsi.wire.session import Ready, WorkerOutput, render_ids

STDIN, STDOUT, STDERR = 0, 1, 2
_IN_VAIN = (ProcessExitedAlready, ProcessLookupError, PermissionError)
"""A signal that reaches nobody: it is dead, or has become another account's. Either shows by itself."""
LINGER = 2.0
"""Seconds that a pipe may outlive the process, held by a grandchild, or the process its pipes."""


class WorkerProcess(ProcessProtocol):
    """The dispatcher's end of a worker. What it hears goes to *report* as events.

    The worker is gone when it has exited and all it wrote was read, or LINGER after its exit: its last answer may be
    read after its exit is known, and a grandchild can hold the pipe for ever.
    """

    log = Logger()
    transport: IProcessTransport

    def __init__(
        self,
        reactor: IReactorTime,
        number: int,
        stage: str,
        report: Callable[[Event], None],
        *,
        own_group: bool = False,
    ) -> None:
        self._reactor = reactor
        self._own_group = own_group
        self._pid: int | None = None
        self._number = number
        self._report = report
        self._output = WorkerOutput()
        self._broken = False
        self._end: WorkerGone | None = None
        self._open = {STDIN, STDOUT}
        self._timer: IDelayedCall | None = None
        self._over = False
        self._retired = False
        self._chatter = Chatter(lambda line: self.log.info("{stage}: {line}", stage=stage, line=line), reactor.seconds)

    # What the dispatcher does

    def hand(self, ids: tuple[int, ...]) -> None:
        """Write *ids* in one write. To a worker that is dying this is no error: its end is under way."""
        if STDIN in self._open:
            self.transport.write(render_ids(list(ids)))

    def retire(self) -> None:
        """Close its standard input: it holds nothing, and ends by itself."""
        self._retired = True
        self.transport.closeStdin()

    def terminate(self) -> None:
        """Send SIGTERM to the worker alone: it is to finish the message in hand."""
        with contextlib.suppress(*_IN_VAIN):
            self.transport.signalProcess("TERM")

    def kill(self) -> None:
        """Send SIGKILL to the worker and to whatever shares its process group."""
        self._kill_group()
        with contextlib.suppress(*_IN_VAIN):
            self.transport.signalProcess("KILL")

    def _kill_group(self) -> None:
        if self._own_group and self._pid is not None:
            with contextlib.suppress(*_IN_VAIN):
                os.killpg(self._pid, signal.SIGKILL)

    # What the reactor tells

    def connectionMade(self) -> None:
        """It runs."""
        self._pid = self.transport.pid

    def outReceived(self, data: bytes) -> None:
        """The worker wrote; answers of one read make one event."""
        if self._broken or self._over:
            return
        heard, error = self._output.feed(data)
        statuses: list[Status] = []
        for value in heard:
            if isinstance(value, Ready):
                self._report(WorkerReady(self._number, value.batch))
            else:
                statuses.append(value)
        if statuses:
            self._report(Answered(self._number, tuple(statuses)))
        if error is not None:
            self._broken = True
            self._report(Garbled(self._number, str(error)))

    def errReceived(self, data: bytes) -> None:
        """Read always: a full pipe would block the worker."""
        self._chatter.feed(data)

    def childConnectionLost(self, childFD: int) -> None:
        """A pipe was closed. Of a process that lives this is a fault, unless we closed it."""
        self._open.discard(childFD)
        if self._end is not None:
            self._settle()
        elif childFD in (STDIN, STDOUT) and not self._retired and self._timer is None:
            name = "input" if childFD == STDIN else "output"
            self._timer = self._reactor.callLater(LINGER, self._half_closed, f"it closed its standard {name}")

    def processExited(self, reason: Failure) -> None:
        """It is dead, but not all it wrote need have been read. What it had started dies with it."""
        self._kill_group()
        self._pid = None  # from now on the number can be another's
        self._end = WorkerGone(
            worker=self._number,
            code=getattr(reason.value, "exitCode", None),
            signal=getattr(reason.value, "signal", None),
        )
        self._cancel_timer()
        self._timer = self._reactor.callLater(LINGER, self._let_go)
        self._settle()

    def processEnded(self, reason: Failure) -> None:
        """It is dead, and all its pipes are closed."""
        if self._end is None:
            self.processExited(reason)
        self._let_go()

    def _half_closed(self, why: str) -> None:
        self._timer = None
        if not self._broken and self._end is None:
            self._broken = True
            self._report(Garbled(self._number, why))

    def _settle(self) -> None:
        if STDOUT not in self._open:
            self._tell_end()

    def _let_go(self) -> None:
        """Close what is open still: its last words on standard error, at the latest, have been read."""
        self._cancel_timer()
        self._tell_end()
        self._chatter.close()
        self.transport.loseConnection()

    def _tell_end(self) -> None:
        if self._end is not None and not self._over:
            self._over = True
            self._report(self._end)

    def _cancel_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()
