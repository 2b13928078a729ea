"""All worker processes: started, told to end, and killed when they do not. First on a clock, then real ones."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import defer, reactor, task
from twisted.internet.task import Clock

from pepsi.dispatch.fleet import GRACE, RETIREMENT, Fleet
from pepsi.dispatch.program import Launch, launch
from pepsi.errors import StageError
from pepsi.model.stage import StageSpec
from pepsi.model.status import Status
from pepsi.sched.events import Answered, Event, WorkerGone, WorkerNotStarted, WorkerReady
from tests.fakes_dispatch import FakeSpawner
from tests.support_reactor import with_timeout

PROGRAM = Launch("/bin/x", ("/bin/x", "worker"), {"PEPSI_STAGE": "a"}, own_group=False)


class Clocked:
    """A fleet on a clock, whose processes are fakes."""

    def __init__(
        self, clock: Clock, spawner: FakeSpawner, prepare: Callable[[str], Launch] = lambda _: PROGRAM
    ) -> None:
        self.heard: list[Event] = []
        self.spawner = spawner
        self.fleet = Fleet(spawner, clock, prepare, self.heard.append)

    def signals(self, number: int = 1) -> list[str | int]:
        return self.spawner.spawned[number - 1].signals


@pytest.fixture
def clocked(clock: Clock, spawner: FakeSpawner) -> Clocked:
    made = Clocked(clock, spawner)
    made.fleet.start(1, "a")
    return made


def test_a_worker_is_started_as_prepared(clocked: Clocked) -> None:
    assert clocked.spawner.calls == [("/bin/x", ["/bin/x", "worker"], {"PEPSI_STAGE": "a"})]
    clocked.spawner.spawned[0].say(b"ready\n")
    assert clocked.heard == [WorkerReady(1)]


def test_a_program_that_cannot_be_found_is_reported(clock: Clock, spawner: FakeSpawner) -> None:
    def prepare(stage: str) -> Launch:
        raise StageError(f"PROGRAM of {stage} is not found")

    clocked = Clocked(clock, spawner, prepare)
    clocked.fleet.start(5, "b")
    assert clocked.heard == [WorkerNotStarted(5, "PROGRAM of b is not found")]


def test_a_program_that_the_system_cannot_start_is_reported(clocked: Clocked) -> None:
    clocked.spawner.error = BlockingIOError(11, "Resource temporarily unavailable")
    clocked.fleet.start(2, "a")
    (event,) = clocked.heard
    assert isinstance(event, WorkerNotStarted)
    assert "Resource temporarily unavailable" in event.why


def test_ids_reach_the_worker_they_are_for(clocked: Clocked) -> None:
    clocked.fleet.start(2, "a")
    clocked.fleet.hand(2, (5, 6))
    assert [process.written for process in clocked.spawner.spawned] == [[], [b"5\n6\n"]]


def test_whoever_is_gone_or_never_was_is_spoken_to_in_vain(clocked: Clocked) -> None:
    clocked.spawner.spawned[0].die(code=0)
    assert clocked.heard == [WorkerGone(worker=1, code=0)]
    for number in (1, 99):
        clocked.fleet.hand(number, (5,))
        clocked.fleet.retire(number)
        clocked.fleet.stop(number)
        clocked.fleet.kill(number)
    assert len(clocked.heard) == 1
    assert not clocked.signals()


def test_a_stop_is_a_sigterm_and_a_kill_when_the_grace_is_over(clocked: Clocked, clock: Clock) -> None:
    clocked.fleet.stop(1)
    assert clocked.signals() == ["TERM"]
    clock.advance(GRACE - 0.1)
    assert clocked.signals() == ["TERM"]
    clock.advance(0.1)
    assert clocked.signals() == ["TERM", "KILL"]


def test_a_worker_that_stops_in_time_is_not_killed(clocked: Clocked, clock: Clock) -> None:
    clocked.fleet.stop(1)
    clocked.spawner.spawned[0].die(code=0)
    clock.advance(0)
    assert not clock.getDelayedCalls()
    assert clocked.heard == [WorkerGone(worker=1, code=0)]


def test_retirement_closes_the_input_and_kills_only_who_takes_far_too_long(clocked: Clocked, clock: Clock) -> None:
    clocked.fleet.retire(1)
    clock.advance(0)
    assert 0 not in clocked.spawner.spawned[0].open
    clock.advance(RETIREMENT - 0.1)
    assert not clocked.signals()
    clock.advance(0.1)
    assert clocked.signals() == ["KILL"]


def test_a_kill_is_a_kill_at_once(clocked: Clocked) -> None:
    clocked.fleet.kill(1)
    assert clocked.signals() == ["KILL"]


def test_all_can_be_killed_at_once(clocked: Clocked) -> None:
    clocked.fleet.start(2, "b")
    clocked.fleet.kill_all()
    assert (clocked.signals(1), clocked.signals(2)) == (["KILL"], ["KILL"])


# Real processes


class Real:
    """A fleet of real processes; events are waited for."""

    def __init__(self, script: Path) -> None:
        spec = StageSpec(name="a", program=f"{sys.executable} -I -S {script}")
        self.heard: list[Event] = []
        self._waiting: list[tuple[type[Event], defer.Deferred[Any]]] = []
        self.fleet = Fleet(reactor, reactor, lambda _: launch(spec, 7, None, os.environ), self._hear)

    def _hear(self, event: Event) -> None:
        self.heard.append(event)
        for waiting in [each for each in self._waiting if isinstance(event, each[0])]:
            self._waiting.remove(waiting)
            waiting[1].callback(event)

    async def event(self, kind: type[Any]) -> Any:
        """Return the next event of a kind, past ones included."""
        for event in self.heard:
            if isinstance(event, kind):
                self.heard.remove(event)
                return event
        waiting: defer.Deferred[Any] = defer.Deferred()
        self._waiting.append((kind, waiting))
        event = await waiting
        self.heard.remove(event)
        return event


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "worker.py"
    path.write_text("import os, signal, subprocess, sys, time\n" + text)
    return path


def alive(pid: int) -> bool:
    """Whether a process still does something."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


async def until_dead(pid: int) -> None:
    while alive(pid):
        await task.deferLater(reactor, 0.01, lambda: None)


@with_timeout()
async def test_a_real_worker_is_handed_ids_answers_and_ends_when_it_is_retired(tmp_path: Path) -> None:
    real = Real(script(tmp_path, "os.write(1, b'ready\\n')\nfor line in sys.stdin: os.write(1, b'0\\n')\n"))
    real.fleet.start(1, "a")
    assert await real.event(WorkerReady) == WorkerReady(1)
    real.fleet.hand(1, (5,))
    assert await real.event(Answered) == Answered(1, (Status(code=0),))
    real.fleet.retire(1)
    assert await real.event(WorkerGone) == WorkerGone(worker=1, code=0)


@with_timeout()
async def test_its_last_answer_is_heard_before_its_end(tmp_path: Path) -> None:
    real = Real(script(tmp_path, "os.write(1, b'ready\\n')\nsys.stdin.readline()\nos.write(1, b'0\\n')\nos._exit(3)\n"))
    for number in range(1, 21):
        real.fleet.start(number, "a")
        await real.event(WorkerReady)
        real.fleet.hand(number, (5,))
        gone = await real.event(WorkerGone)
        assert gone.code == 3
        assert real.heard == [Answered(number, (Status(code=0),))]
        real.heard.clear()


GRANDCHILD = """
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(1000)"], stdin=subprocess.DEVNULL)
os.write(1, b"ready\\n")
os.write(1, b"5 %d\\n" % child.pid)
"""


async def grandchild(real: Real) -> int:
    await real.event(WorkerReady)
    answered = await real.event(Answered)
    return int(answered.statuses[0].reason)


@with_timeout()
async def test_a_kill_reaches_what_the_worker_has_started(tmp_path: Path) -> None:
    real = Real(script(tmp_path, GRANDCHILD + "time.sleep(1000)\n"))
    real.fleet.start(1, "a")
    pid = await grandchild(real)
    assert alive(pid)
    real.fleet.kill(1)
    assert (await real.event(WorkerGone)).signal == signal.SIGKILL
    await until_dead(pid)


@with_timeout()
async def test_a_grandchild_that_outlives_the_worker_and_holds_its_pipe_keeps_no_slot(tmp_path: Path) -> None:
    real = Real(script(tmp_path, GRANDCHILD + "os._exit(4)\n"))
    real.fleet.start(1, "a")
    pid = await grandchild(real)
    assert (await real.event(WorkerGone)).code == 4
    os.kill(pid, signal.SIGKILL)
    await until_dead(pid)


@with_timeout()
async def test_a_real_worker_hears_that_it_is_to_stop(tmp_path: Path) -> None:
    text = "signal.signal(signal.SIGTERM, lambda *_: os._exit(7))\nos.write(1, b'ready\\n')\ntime.sleep(1000)\n"
    real = Real(script(tmp_path, text))
    real.fleet.start(1, "a")
    await real.event(WorkerReady)
    real.fleet.stop(1)
    assert (await real.event(WorkerGone)).code == 7


@with_timeout()
async def test_a_real_worker_leads_a_session_of_its_own_and_inherits_three_pipes(tmp_path: Path) -> None:
    text = """
import json
facts = {"pid": os.getpid(), "pgid": os.getpgid(0), "sid": os.getsid(0), "fds": sorted(os.listdir("/proc/self/fd"))[:4]}
facts["stage"] = os.environ["PEPSI_STAGE"], os.environ["PEPSI_EPOCH"]
os.write(1, b"ready\\n")
os.write(1, b"5 " + json.dumps(facts).encode() + b"\\n")
"""
    real = Real(script(tmp_path, text))
    real.fleet.start(1, "a")
    await real.event(WorkerReady)
    reason = (await real.event(Answered)).statuses[0].reason
    await real.event(WorkerGone)
    pid = reason.split('"pid": ')[1].split(",")[0]
    assert f'"pgid": {pid}, "sid": {pid}' in reason
    assert '"fds": ["0", "1", "2", "3"]' in reason, "3 is the listing itself"
    assert '"stage": ["a", "7"]' in reason


@with_timeout()
async def test_a_flood_on_standard_error_holds_nobody_up(tmp_path: Path) -> None:
    text = "os.write(1, b'ready\\n')\nfor _ in range(200): os.write(2, b'x' * 65536)\nos.write(1, b'0\\n')\n"
    real = Real(script(tmp_path, text))
    real.fleet.start(1, "a")
    await real.event(WorkerReady)
    assert await real.event(Answered) == Answered(1, (Status(code=0),))
    await real.event(WorkerGone)
