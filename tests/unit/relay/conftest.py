"""Hosts to send to, and what a client needs to reach them."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pepsi.relay.channel import Clock
from pepsi.relay.client import Client
from pepsi.relay.host import Host, Timeouts
from tests.unit.relay.sink import Sink

QUICK = Timeouts(connect=5.0, command=5.0, block=5.0, final=5.0)


@pytest.fixture
def sinks() -> Iterator[Callable[..., Sink]]:
    """Make hosts that are closed at the end of the test."""
    made: list[Sink] = []

    def make(kind: type[Sink] = Sink, **keywords: Any) -> Sink:
        made.append(kind(**keywords))
        return made[-1]

    yield make
    for sink in made:
        sink.close()


@pytest.fixture
def clients() -> Iterator[Callable[..., Client]]:
    """Make clients of a sink that are closed at the end of the test."""
    made: list[Client] = []

    def make(sink: Sink, *, idle: float = 60.0, clock: Clock = time.monotonic, **keywords: Any) -> Client:
        settings = {"name": "127.0.0.1", "port": sink.port, "helo": "us.example", "timeouts": QUICK} | keywords
        made.append(Client(Host(**settings), idle=idle, clock=clock))
        return made[-1]

    yield make
    for client in made:
        client.close()
