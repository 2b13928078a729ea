"""Faults that a review found in the adapters of the dispatcher, each kept from coming back."""

import contextlib
import signal
import sys
from pathlib import Path
from typing import Any, cast

import psycopg2.errors
import pytest
from twisted.internet import defer
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from pepsi.db.faults import fault_of
from pepsi.dispatch import recovery
from pepsi.dispatch.clerk import Clerk
from pepsi.dispatch.fleet import GRACE
from pepsi.dispatch.program import launch
from pepsi.dispatch.recovery import PATIENCE, STEP
from pepsi.model.row import RowStatus
from pepsi.model.stage import StageSpec
from pepsi.reactor.session import Refused
from pepsi.sched import commands
from pepsi.sched.events import Answered, Event, Fenced, SettleFailed, Woken, WorkerGone
from tests.fakes_dispatch import STDERR, STDIN, STDOUT, FakeSession, FakeSpawner
from tests.reactor.dispatch.test_coordinator import Office
from tests.reactor.dispatch.test_fleet import Clocked, Real, script
from tests.reactor.dispatch.test_leadership import Rows, Server
from tests.reactor.dispatch.test_process import Worker
from tests.reactor.dispatch.test_recovery import Server as FormerServer
from tests.support_reactor import with_timeout


def test_the_last_words_of_a_worker_are_logged_even_if_its_output_closes_first(clock: Clock, bystander: int) -> None:
    worker = Worker(clock, bystander)
    with capturedLogs() as logged:
        worker.process.exit(code=1)
        worker.process.close(STDIN, STDOUT)
        clock.advance(0)
        worker.process.complain(b"MemoryError\n")
        worker.process.close(STDERR)
    assert [entry["line"] for entry in logged if "line" in entry] == ["MemoryError"]


def test_a_worker_that_we_may_not_signal_is_one_that_cannot_be_killed_and_no_fault_of_ours(
    clock: Clock, bystander: int
) -> None:
    worker = Worker(clock, bystander)
    worker.process.immune = PermissionError
    worker.protocol.terminate()
    worker.protocol.kill()


def test_a_broken_dispatcher_ends_whatever_becomes_of_its_workers(clock: Clock) -> None:
    office = Office(clock)
    office.engine.error = ZeroDivisionError("a fault of ours")
    office.fleet.error = PermissionError("not allowed")
    with capturedLogs(), contextlib.suppress(PermissionError):
        office.turn()
    assert office.exits == [1]


def test_a_worker_that_was_retired_and_is_then_stopped_has_no_more_than_the_grace(
    clock: Clock, spawner: FakeSpawner
) -> None:
    clocked = Clocked(clock, spawner)
    clocked.fleet.start(1, "a")
    clocked.fleet.retire(1)
    clock.advance(1.0)
    clocked.fleet.stop(1)
    clock.advance(GRACE)
    assert clocked.signals()[-1] == "KILL"


def test_a_dispatcher_that_came_and_went_between_two_questions_is_noticed(clock: Clock) -> None:
    class Raced(Server):
        racing = False

        def lock(self) -> Rows:
            self.epoch += self.racing
            return [(True,)]

    server = Raced(clock)
    server.leader()
    server.racing = True
    server.session.lose()
    server.session.return_()
    assert isinstance(server.heard[-1], Fenced)


def test_former_workers_have_their_time_to_go_after_an_outage(clock: Clock) -> None:
    server = FormerServer(clock, [(4711, "pepsi-stage-a")], rows=5)
    server.away = True
    with capturedLogs():
        done = server.run()
        clock.pump([STEP] * int(PATIENCE / STEP + 1))
        server.away = False
        clock.pump([STEP] * (int(recovery.GRACE / STEP) + 1))
    assert server.ended
    assert not done.called
    assert Woken not in {type(event) for event in server.heard}
    done.addErrback(lambda failure: None)
    done.cancel()


def error_with(code: str) -> psycopg2.Error:
    error = psycopg2.errors.lookup(code)()
    error.__setstate__({"pgcode": code})  # type: ignore[no-untyped-call]
    return error


@pytest.mark.parametrize("code", ["53100", "53200", "58030", "42501"])
def test_a_settlement_is_not_refused_for_good_because_the_server_is_in_trouble(code: str) -> None:
    def answer(_: Any) -> Rows:
        raise Refused("in trouble", fault_of(error_with(code)))

    heard: list[Event] = []
    session = cast(Any, FakeSession(answer))
    write = commands.Settlement(workqueue_id=1, claim=5, status=RowStatus.PENDING)
    assert defer.ensureDeferred(Clerk(7, session, session, heard.append).settle(commands.Settle((write,)))).called
    assert heard == [SettleFailed("in trouble", refused=False)]


@with_timeout()
async def test_a_worker_has_a_clean_signal_mask(tmp_path: Path) -> None:
    text = "mask = [line.split()[1] for line in open('/proc/self/status') if line.startswith('SigBlk')][0]\n"
    text += "os.write(1, b'ready\\n5 ' + mask.encode() + b'\\n')\n"
    real = Real(script(tmp_path, text))
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})
    try:
        real.fleet.start(1, "a")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
    answered = await real.event(Answered)
    await real.event(WorkerGone)
    assert int(answered.statuses[0].reason, 16) == 0


def test_nothing_of_the_watchdog_reaches_a_worker() -> None:
    environ = {"PATH": str(Path(sys.executable).parent), "WATCHDOG_ANYTHING": "1"}
    made = launch(StageSpec(name="a", program=sys.executable), 7, None, environ)
    assert not [name for name in made.environment if name.startswith("WATCHDOG_")]
