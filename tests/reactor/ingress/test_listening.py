"""A unix: socket: who finds one that was left behind takes it over, and nobody takes one that is in use."""

import socket
from pathlib import Path

import pytest
from twisted.internet import reactor
from twisted.internet.threads import deferToThread

from pepsi.ingress.service import DoorService
from pepsi.reactor.listening import remove_stale
from tests.support_reactor import with_timeout
from tests.support_smtp import Client, make_door, open_door

# Twisted compares the path of a socket with bytes and with text, which only a Python that is told to be strict minds.
pytestmark = pytest.mark.filterwarnings("ignore::BytesWarning")


def greet(address: str) -> None:
    with Client(address) as client:
        client.say(b"QUIT", 221)


@with_timeout()
async def test_a_socket_that_nobody_listens_to_is_replaced(tmp_path: Path):
    path = tmp_path / "smtp"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    async with open_door(listen=(f"unix:{path}:mode=640",)) as running:
        assert path.stat().st_mode & 0o777 == 0o640
        await deferToThread(greet, running.address)
    assert list(tmp_path.iterdir()) == []


@with_timeout()
async def test_a_socket_that_is_in_use_and_a_file_that_is_no_socket_are_let_be(tmp_path: Path):
    path = tmp_path / "smtp"
    file = tmp_path / "file"
    file.write_text("mine")
    async with open_door(listen=(f"unix:{path}",)) as running:
        for taken, reason in ((path, "another process listens there"), (file, "it is no socket")):
            failures: list[str] = []
            second = DoorService(reactor, make_door(), [f"unix:{taken}"], failures.append)
            second.privilegedStartService()
            assert failures[0].startswith(f"cannot listen on unix:{taken}: ")
            assert reason in failures[0]
            await second.stopService()
        await deferToThread(greet, running.address)
    assert file.read_text() == "mine"


@with_timeout()
async def test_a_door_removes_at_its_end_only_the_socket_that_it_made(tmp_path: Path):
    path = tmp_path / "smtp"
    async with open_door(listen=(f"unix:{path}",)):
        path.unlink()
        async with open_door(listen=(f"unix:{path}",)) as second:
            await deferToThread(greet, second.address)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            assert path.exists()
    assert path.exists()


def test_a_listener_whose_queue_is_full_is_in_use(tmp_path: Path):
    path = str(tmp_path / "smtp")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(path)
        listener.listen(0)
        first.connect(path)
        for _ in range(3):
            with pytest.raises(OSError, match="another process listens there"):
                remove_stale(path)
