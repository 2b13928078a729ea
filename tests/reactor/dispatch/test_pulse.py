"""The service manager hears when mail moves, is fed by the coordinator's turns alone, and is not flooded."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from pepsi.dispatch.pulse import STATUS_INTERVAL, Pulse
from pepsi.reactor.systemd import Manager
from pepsi.sched.gauges import Gauges


class Service:
    """A pulse whose manager is the test, and whose coordinator has a turn when it is poked, unless it is stuck."""

    def __init__(self, clock: Clock, socket_: socket.socket, **environ: str) -> None:
        self.clock = clock
        self.stuck = False
        self.lock_held, self.stopping, self.in_flight, self.passes = True, False, 0, 0
        self._socket = socket_
        manager = Manager({"NOTIFY_SOCKET": socket_.getsockname(), **environ}, 1)
        self.pulse = Pulse(clock, manager, self._poked, self._gauges)

    def _poked(self) -> None:
        if not self.stuck:
            self.pulse.turned()

    def _gauges(self) -> Gauges:
        return Gauges(
            in_flight=self.in_flight, owed=0, lock_held=self.lock_held, stopping=self.stopping, passes=self.passes,
            failed=0, wakes={}, stages=(),
        )  # fmt: skip

    def heard(self) -> list[str]:
        """What the manager was told since this was asked last."""
        told = []
        while True:
            try:
                told.append(self._socket.recv(1000).decode())
            except BlockingIOError:
                return told


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as made:
        made.bind(str(tmp_path / "notify"))
        yield made


def test_ready_is_said_at_the_start_and_the_watchdog_fed_at_half_its_time(clock: Clock, manager: socket.socket) -> None:
    service = Service(clock, manager, WATCHDOG_USEC="30000000")
    service.pulse.start()
    assert service.heard() == ["READY=1", "WATCHDOG=1", "STATUS=0 in flight, 0.0 passes a second"]
    for _ in range(4):
        clock.advance(15)
        assert "WATCHDOG=1" in service.heard()
    service.pulse.stop()
    clock.advance(100)
    assert service.heard() == []


def test_a_coordinator_that_is_stuck_feeds_nobody_although_the_reactor_goes_round(
    clock: Clock, manager: socket.socket
) -> None:
    service = Service(clock, manager, WATCHDOG_USEC="30000000")
    service.pulse.start()
    service.heard()
    service.stuck = True
    for _ in range(10):
        clock.advance(15)
    assert service.heard() == []
    service.pulse.stop()


def test_many_turns_are_told_of_no_oftener_than_is_of_use(clock: Clock, manager: socket.socket) -> None:
    service = Service(clock, manager, WATCHDOG_USEC="30000000")
    service.pulse.start()
    service.heard()
    told = []
    for _ in range(600):
        clock.advance(0.1)
        service.passes += 1
        service.in_flight = service.passes % 7
        service.pulse.turned()
        told += service.heard()
    assert 4 <= told.count("WATCHDOG=1") <= 9
    statuses = [line for line in told if line.startswith("STATUS=")]
    assert 10 <= len(statuses) <= 60 / STATUS_INTERVAL
    assert all(line.endswith("in flight, 10.0 passes a second") for line in statuses)
    service.pulse.stop()


def test_without_a_watchdog_nobody_pokes_the_coordinator(clock: Clock, manager: socket.socket) -> None:
    service = Service(clock, manager)
    service.pulse.start()
    assert clock.getDelayedCalls() == []
    service.pulse.turned()
    assert service.heard() == ["READY=1", "STATUS=0 in flight, 0.0 passes a second"]
    service.pulse.stop()
    service.pulse.stop()


def test_a_status_says_what_is_wrong_and_is_not_repeated(clock: Clock, manager: socket.socket) -> None:
    service = Service(clock, manager)
    service.in_flight = 3
    service.lock_held = False
    for _ in range(3):
        service.pulse.turned()
        clock.advance(STATUS_INTERVAL)
    assert service.heard() == ["STATUS=without the database's lock; 3 in flight"]
    service.stopping = True
    service.pulse.turned()
    assert service.heard() == ["STATUS=stopping; 3 in flight"]
