"""A clock, and somebody else's process id."""

import subprocess
from collections.abc import Iterator

import pytest
from twisted.internet.task import Clock

from tests.fakes_dispatch import FakeSpawner


@pytest.fixture(scope="module")
def bystander() -> Iterator[int]:
    """The id of a process that leads no process group, so that nobody signals a group by mistake."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def spawner(clock: Clock, bystander: int) -> FakeSpawner:
    return FakeSpawner(clock, bystander)
