"""The reactor's session and a server that lets it in and then says no more."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from twisted.internet import reactor, task

from pepsi.db.session import Parameters
from pepsi.reactor.session import Session
from tests import mute_server
from tests.support_reactor import with_timeout


class MuteServer:
    """``mute_server.py`` as a process. *said* is a line for each login and each request to cancel."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", str(Path(mute_server.__file__))]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        self.dsn = f"host=127.0.0.1 port={port} dbname=x user=x sslmode=disable"
        self.said: list[str] = []
        self._reader = threading.Thread(target=lambda: self.said.extend(self._lines()))
        self._reader.start()

    def _lines(self) -> Iterator[str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield line.strip()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def mute() -> Iterator[MuteServer]:
    server = MuteServer()
    yield server
    server.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await task.deferLater(reactor, 0.01, lambda: None)


@with_timeout()
async def test_a_server_that_lets_us_in_and_says_no_more_is_given_up_and_tried_again(mute: MuteServer) -> None:
    session = Session(reactor, Parameters(dsn=mute.dsn, application_name="x", connect_timeout=1.0), "test")
    session.start()
    try:
        await until(lambda: mute.said.count("login") > 1)
    finally:
        await session.stop()


@with_timeout()
async def test_a_stop_while_connecting_asks_the_server_for_nothing(mute: MuteServer) -> None:
    session = Session(reactor, Parameters(dsn=mute.dsn, application_name="x"), "test")
    session.start()
    await until(lambda: mute.said == ["login"])
    await task.deferLater(reactor, 0.1, lambda: None)
    await session.stop()
    await task.deferLater(reactor, 0.1, lambda: None)
    assert mute.said == ["login"]
