"""Stand-ins for what the dispatcher works with: worker processes, the database session, and its own two hands."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from twisted.internet import defer
from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.internet.interfaces import IProcessProtocol, IProcessTransport, IReactorProcess
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from zope.interface import implementer

from pepsi.db.statement import Statement
from pepsi.sched import commands
from pepsi.sched.commands import Command

STDIN, STDOUT, STDERR = 0, 1, 2


class TurnClock(Clock):
    """A Clock that has turns, as the real reactor has: what a call schedules for now runs in the next turn."""

    def turn(self, seconds: float = 0.0) -> None:
        """Let time pass, and run what is due by then."""
        self.rightNow += seconds
        for call in [call for call in self.calls if call.getTime() <= self.rightNow]:
            if call.active():
                self.calls.remove(call)
                call.called = 1
                call.func(*call.args, **call.kw)


@implementer(IProcessTransport)
class FakeProcess:
    """A process that does what the test says, and tells of it in the order of the real reactor.

    The protocol hears ``processExited`` with a Failure when the process is dead, and ``processEnded`` with another one
    only when all three pipes are closed as well. In between, what the process had written can still be read; and a
    pipe that a child of its own inherited stays open.
    """

    def __init__(self, clock: Clock, protocol: IProcessProtocol, pid: int) -> None:
        self.pid: int | None = pid
        self.written: list[bytes] = []
        self.signals: list[str | int] = []
        self.open = {STDIN, STDOUT, STDERR}
        self.immune: type[OSError] | None = None
        """What a signal raises instead of being delivered."""
        self._closing: set[int] = set()
        self._clock = clock
        self._protocol: Any = protocol
        self._reason: ProcessDone | ProcessTerminated | None = None
        protocol.makeConnection(self)

    # What the process does

    def say(self, data: bytes) -> None:
        """Write to standard output."""
        self._say(STDOUT, data)

    def complain(self, data: bytes) -> None:
        """Write to standard error."""
        self._say(STDERR, data)

    def close(self, *descriptors: int) -> None:
        """Close pipes; of a dead process: the last who held them is gone."""
        for descriptor in descriptors:
            if descriptor in self.open:
                self.open.remove(descriptor)
                self._protocol.childConnectionLost(descriptor)
        self._end()

    def exit(self, *, code: int = 0, signal: int | None = None) -> None:
        """Die. The pipes stay open until ``close``."""
        self.pid = None
        failed = code != 0 or signal is not None
        self._reason = ProcessTerminated(code or None, signal) if failed else ProcessDone(0)  # type: ignore[no-untyped-call]
        self._protocol.processExited(Failure(self._reason))  # type: ignore[no-untyped-call]
        self._end()

    def die(self, *, code: int = 0, signal: int | None = None) -> None:
        """Die, and have all pipes closed."""
        self.exit(code=code, signal=signal)
        self.close(STDIN, STDOUT, STDERR)

    def _say(self, descriptor: int, data: bytes) -> None:
        # What arrives on a pipe that our end has closed is read by nobody.
        if descriptor in self.open - self._closing:
            self._protocol.childDataReceived(descriptor, data)

    def _end(self) -> None:
        protocol = self._protocol
        if self._reason is not None and not self.open and protocol is not None:
            self._protocol = None
            protocol.processEnded(Failure(self._reason))  # type: ignore[no-untyped-call]

    # What is done to it

    def write(self, data: bytes) -> None:
        if STDIN in self.open - self._closing:
            self.written.append(data)

    def writeSequence(self, data: Iterable[bytes]) -> None:
        self.write(b"".join(data))

    def writeToChild(self, childFD: int, data: bytes) -> None:
        assert childFD in self.open
        self.write(data)

    def closeChildFD(self, descriptor: int) -> None:
        # Our end is deaf at once; the protocol is told later, as by the real reactor.
        if descriptor in self.open - self._closing:
            self._closing.add(descriptor)
            self._clock.callLater(0, self.close, descriptor)

    def closeStdin(self) -> None:
        self.closeChildFD(STDIN)

    def closeStdout(self) -> None:
        self.closeChildFD(STDOUT)

    def closeStderr(self) -> None:
        self.closeChildFD(STDERR)

    def loseConnection(self) -> None:
        for descriptor in (STDIN, STDOUT, STDERR):
            self.closeChildFD(descriptor)

    def signalProcess(self, signalID: str | int) -> None:
        if self.pid is None:
            raise ProcessExitedAlready()
        if self.immune is not None:
            raise self.immune("not allowed")
        self.signals.append(signalID)

    def getPeer(self) -> Any:
        raise NotImplementedError

    def getHost(self) -> Any:
        raise NotImplementedError


@implementer(IReactorProcess)
class FakeSpawner:
    """Spawns ``FakeProcess``es. *pid* is what they all claim to be: of a process that leads no group."""

    def __init__(self, clock: Clock, pid: int) -> None:
        self.clock = clock
        self.spawned: list[FakeProcess] = []
        self.calls: list[tuple[str, list[str], dict[str, str]]] = []
        self.error: OSError | None = None
        """What the next start fails with."""
        self._pid = pid

    def spawnProcess(
        self,
        processProtocol: IProcessProtocol,
        executable: Any,
        args: Sequence[Any],
        env: Mapping[Any, Any] | None = None,
        path: Any = None,
        uid: int | None = None,
        gid: int | None = None,
        usePTY: bool = False,
        childFDs: Mapping[int, int | str] | None = None,
    ) -> IProcessTransport:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        self.calls.append((executable, list(args), dict(env or {})))
        self.spawned.append(FakeProcess(self.clock, processProtocol, self._pid))
        return self.spawned[-1]


class FakeSession:
    """A ``pepsi.reactor.session.Session`` whose statements are answered by a function, which may raise, too."""

    def __init__(self, answer: Callable[[Statement], list[tuple[Any, ...]]]) -> None:
        self.up = True
        self.ran: list[Statement] = []
        self.dropped: list[str] = []
        self._answer = answer
        self._up: list[Callable[[], None]] = []
        self._down: list[Callable[[], None]] = []
        self._heard: list[Callable[[str], None]] = []

    async def run(self, statement: Statement) -> list[tuple[Any, ...]]:
        self.ran.append(statement)
        return self._answer(statement)

    def on_up(self, callback: Callable[[], None]) -> None:
        self._up.append(callback)

    def on_down(self, callback: Callable[[], None]) -> None:
        self._down.append(callback)

    def on_heard(self, callback: Callable[[str], None]) -> None:
        self._heard.append(callback)

    def drop(self, why: str) -> None:
        self.dropped.append(why)
        self.lose()

    def lose(self) -> None:
        """The connection is lost."""
        self.up = False
        for callback in self._down:
            callback()

    def return_(self) -> None:
        """There is a new connection."""
        self.up = True
        for callback in self._up:
            callback()

    def hear(self, channel: str) -> None:
        """Somebody spoke on *channel*."""
        for callback in self._heard:
            callback(channel)


class RecordingFleet:
    """A ``pepsi.dispatch.fleet.Fleet`` that only writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.error: Exception | None = None

    def _call(self, *call: Any) -> None:
        self.calls.append(call)
        if self.error is not None:
            raise self.error

    def start(self, number: int, stage: str) -> None:
        self._call("start", number, stage)

    def hand(self, number: int, ids: tuple[int, ...]) -> None:
        self._call("hand", number, ids)

    def retire(self, number: int) -> None:
        self._call("retire", number)

    def stop(self, number: int) -> None:
        self._call("stop", number)

    def kill(self, number: int) -> None:
        self._call("kill", number)

    def kill_all(self) -> None:
        self._call("kill_all")


class RecordingClerk:
    """A ``pepsi.dispatch.clerk.Clerk`` that only writes down what it is told. Each call then waits for *work*."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.work: defer.Deferred[None] = defer.succeed(None)

    async def _call(self, call: Any) -> None:
        self.calls.append(call)
        await self.work

    async def claim(self, command: commands.Claim) -> None:
        await self._call(command)

    async def settle(self, command: commands.Settle) -> None:
        await self._call(command)

    async def ask_due(self) -> None:
        await self._call("ask_due")

    async def flip_due(self, limit: int) -> None:
        await self._call(("flip_due", limit))

    async def ask_running(self, look: int) -> None:
        await self._call(("ask_running", look))

    async def sweep(self, limit: int) -> None:
        await self._call(("sweep", limit))

    async def flush(self, command: commands.Flush) -> None:
        await self._call(command)


class ScriptedEngine:
    """A ``pepsi.sched.engine.Engine`` that returns what the test has laid out, turn by turn, and then nothing."""

    def __init__(self, *turns: list[Command]) -> None:
        self.turns = list(turns)
        self.heard: list[tuple[float, list[Any]]] = []
        self.wake_in = 1000.0
        self.error: Exception | None = None

    def handle(self, happened: Sequence[Any], now: float) -> list[Command]:
        self.heard.append((now, list(happened)))
        if self.error is not None:
            raise self.error
        return self.turns.pop(0) if self.turns else []

    @property
    def next_wake(self) -> float:
        return (self.heard[-1][0] if self.heard else 0.0) + self.wake_in
