"""The fakes keep the contracts of what they stand for."""

import inspect
import sys
from typing import Any

import pytest
from twisted.internet import defer, reactor
from twisted.internet.error import ProcessDone, ProcessTerminated
from twisted.internet.interfaces import IProcessProtocol, IProcessTransport, IReactorProcess
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from zope.interface.verify import verifyObject

from pepsi.dispatch.clerk import Clerk
from pepsi.dispatch.fleet import Fleet
from pepsi.reactor.session import Session
from pepsi.sched.engine import Engine
from tests.fakes_dispatch import (
    STDERR,
    STDIN,
    STDOUT,
    FakeProcess,
    FakeSession,
    FakeSpawner,
    RecordingClerk,
    RecordingFleet,
    ScriptedEngine,
)
from tests.support_reactor import with_timeout


class Diary(ProcessProtocol):
    """Writes down what a process protocol is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ended: defer.Deferred[None] = defer.Deferred()

    def connectionMade(self) -> None:
        self.lines.append("made")

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        self.lines.append(f"{childFD}: {data!r}")

    def childConnectionLost(self, childFD: int) -> None:
        self.lines.append(f"lost {childFD}")

    def processExited(self, reason: Failure) -> None:
        self.lines.append(f"exited {self._how(reason)}")

    def processEnded(self, reason: Failure) -> None:
        self.lines.append(f"ended {self._how(reason)}")
        self.ended.callback(None)

    @staticmethod
    def _how(reason: Failure) -> str:
        assert isinstance(reason.value, ProcessDone | ProcessTerminated)
        return f"{reason.value.exitCode} {reason.value.signal}"


def test_the_fakes_provide_what_they_say(clock: Clock, spawner: FakeSpawner) -> None:
    assert verifyObject(IReactorProcess, spawner)
    diary = Diary()
    assert verifyObject(IProcessProtocol, diary)
    assert verifyObject(IProcessTransport, spawner.spawnProcess(diary, "x", ["x"]))


@pytest.mark.parametrize(
    ("fake", "real"),
    [
        (FakeSession(lambda _: []), Session),
        (RecordingFleet(), Fleet),
        (RecordingClerk(), Clerk),
        (ScriptedEngine(), Engine),
    ],
)
def test_each_method_of_a_fake_is_one_of_the_real_thing_with_the_same_parameters(fake: Any, real: type) -> None:
    own = {"lose", "return_", "hear"}
    for name, method in inspect.getmembers(fake, inspect.ismethod):
        if not name.startswith("_") and name not in own:
            theirs = inspect.signature(getattr(real, name))
            assert [*inspect.signature(method).parameters] == [*theirs.parameters][1:], name


PROGRAMS = {
    "0 None": "pass",
    "3 None": "raise SystemExit(3)",
    "None 9": "import os; os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("how", PROGRAMS)
@with_timeout()
async def test_fake_and_real_processes_end_in_the_same_order(how: str) -> None:
    real = Diary()
    code = f"import os; os.write(1, b'out'); os.write(2, b'err'); {PROGRAMS[how]}"
    reactor.spawnProcess(real, sys.executable, [sys.executable, "-I", "-S", "-c", code], {})
    await real.ended

    fake = Diary()
    process = FakeProcess(Clock(), fake, 1)
    process.say(b"out")
    process.complain(b"err")
    exit_code, signal = how.split()
    process.exit(code=0 if exit_code == "None" else int(exit_code), signal=None if signal == "None" else int(signal))
    process.close(STDIN, STDOUT, STDERR)
    await fake.ended

    for diary in (real, fake):
        assert diary.lines[0] == "made"
        assert diary.lines[-1] == f"ended {how}"
        assert diary.lines.count(f"exited {how}") == 1
    assert sorted(real.lines) == sorted(fake.lines)


@with_timeout()
async def test_fake_and_real_processes_are_deaf_once_they_lost_their_connection() -> None:
    real = Diary()
    code = "import os; os.write(1, b'out'); os.read(0, 1); os.write(1, b'late')"
    spawned = reactor.spawnProcess(real, sys.executable, [sys.executable, "-I", "-S", "-c", code], {})
    real.childDataReceived = lambda childFD, data: spawned.loseConnection()  # type: ignore[method-assign]
    await real.ended

    clock, fake = Clock(), Diary()
    process = FakeProcess(clock, fake, 1)
    process.loseConnection()
    process.say(b"late")
    process.exit(code=0)
    assert not fake.ended.called
    clock.advance(0)
    await fake.ended
    assert sorted(line for line in fake.lines if "lost" in line) == ["lost 0", "lost 1", "lost 2"]
    assert not [line for diary in (real, fake) for line in diary.lines if "late" in line]
