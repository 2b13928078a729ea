"""What the service manager hears, on sockets of every kind that it uses."""

import socket
from pathlib import Path

import pytest

from pepsi.reactor.systemd import Manager


def listener(address: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.settimeout(10)
    made.bind(address)
    return made


def test_a_socket_of_the_file_system_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with listener(path) as manager:
        Manager({"NOTIFY_SOCKET": path}, 1).tell(READY=1, STATUS="3 in flight")
        assert manager.recv(1000) == b"READY=1\nSTATUS=3 in flight"


def test_an_abstract_socket_is_told(tmp_path: Path) -> None:
    name = f"pepsi-test-{tmp_path}"
    with listener(f"\0{name}") as manager:
        Manager({"NOTIFY_SOCKET": f"@{name}"}, 1).tell(WATCHDOG=1)
        assert manager.recv(1000) == b"WATCHDOG=1"


@pytest.mark.parametrize("where", ["", "vsock:2:9999", "relative", "/no/such/socket", "/" + "x" * 200])
def test_where_nobody_can_be_told_nothing_happens(where: str) -> None:
    Manager({"NOTIFY_SOCKET": where} if where else {}, 1).tell(READY=1)


def test_a_manager_that_does_not_read_makes_nobody_wait(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with listener(path) as manager:
        manager.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        told = Manager({"NOTIFY_SOCKET": path}, 1)
        for _ in range(10_000):
            told.tell(STATUS="x" * 1000)
        assert manager.recv(2000) == b"STATUS=" + b"x" * 1000


@pytest.mark.parametrize(
    ("environ", "watchdog"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": "77"}, 0.5),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": ""}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "78"}, None),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "me"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_ours_if_the_manager_says_so(environ: dict[str, str], watchdog: float | None) -> None:
    assert Manager({"NOTIFY_SOCKET": "/run/x", **environ}, 77).watchdog == watchdog
    assert Manager(environ, 77).watchdog is None, "there is nobody to feed"
