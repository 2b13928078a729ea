"""What every kind of test may ask for: a database, a state directory, a reactor that is left clean."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pepsi.db.embedded import private_server
from tests.support_database import Database, install, new_database
from tests.support_reactor import watched_reactor


@pytest.fixture
def state_directory() -> Iterator[Path]:
    """A STATE_DIRECTORY. As root tmp_path will not do: it lies in a directory that only root can enter."""
    directory = Path(tempfile.mkdtemp(prefix="pepsi-test-"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The libpq string of a PostgreSQL server: that of PEPSI_TEST_DSN, else a throw-away one of our own."""
    given = os.environ.get("PEPSI_TEST_DSN")
    if given:
        yield given
        return
    directory = Path(tempfile.mkdtemp(prefix="pepsi-test-"))
    with private_server(directory, fast=True) as dsn:
        yield dsn
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """The name of a database that holds the schema and nothing else."""
    name = f"pepsi_template_{os.getpid()}"
    with new_database(server, name=name) as database:
        install(database)
        yield name


@pytest.fixture
def database(server: str, template: str) -> Iterator[Database]:
    """A new database with the schema: ``.dsn``, ``.connect()``, ``.rows(sql)``, ``.value(sql)``."""
    with new_database(server, template=template) as database:
        yield database


@pytest.fixture(scope="module")
def shared_database(server: str, template: str) -> Iterator[Database]:
    """One database for all tests of a module, for those that run many times over (hypothesis)."""
    with new_database(server, template=template) as database:
        yield database


@pytest.fixture
def clean_reactor() -> Iterator[list[dict[str, Any]]]:
    """Asked for by ``with_timeout``. A test that expects a logged error takes it away: ``clean_reactor.clear()``."""
    yield from watched_reactor()
