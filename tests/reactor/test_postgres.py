"""The service that looks after the private server."""

import os
import signal
from pathlib import Path

import psycopg2
from twisted.internet import reactor, task

from pepsi.db.embedded import PrivateServer, home_of
from pepsi.reactor.postgres import PostgresService
from tests.support_reactor import with_timeout


def answers(dsn: str) -> bool:
    try:
        psycopg2.connect(dsn).close()
    except psycopg2.OperationalError:
        return False
    return True


@with_timeout(60)
async def test_a_server_that_died_comes_back_and_goes_with_the_service(state_directory: Path) -> None:
    server = PrivateServer(state_directory, fast=True)
    dsn = server.start()
    service = PostgresService(reactor, server, look=0.02)
    service.startService()
    pid_file = home_of(state_directory) / "data" / "postmaster.pid"
    os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
    while answers(dsn):
        await task.deferLater(reactor, 0.01)
    while not answers(dsn):
        await task.deferLater(reactor, 0.01)
    await service.stopService()
    assert not answers(dsn)
    assert not pid_file.exists()


@with_timeout(60)
async def test_a_service_that_only_uses_the_server_leaves_it_running(state_directory: Path) -> None:
    owner = PrivateServer(state_directory, fast=True)
    dsn = owner.start()
    user = PrivateServer(state_directory)
    user.start()
    service = PostgresService(reactor, user, look=0.02)
    service.startService()
    await task.deferLater(reactor, 0.05)
    await service.stopService()
    await service.stopService()
    assert answers(dsn)
    owner.stop()
