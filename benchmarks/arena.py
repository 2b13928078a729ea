"""Where benchmarks take place: a private PostgreSQL server with durable settings, and databases on it."""

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from psycopg2.extensions import connection as Connection
from psycopg2.extensions import make_dsn

from benchmarks.processor import parent_of
from pepsi.db import schema, sync
from pepsi.db.embedded import private_server
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement

APPLICATION = "pepsi-benchmark"

Rows = list[tuple[Any, ...]]


class Database:
    """A database, and one connection to look into it."""

    def __init__(self, dsn: str, name: str) -> None:
        self.dsn = make_dsn(dsn, dbname=name)
        self.name = name
        self.connection = connect(self.dsn)

    def rows(self, text: str, **params: Any) -> Rows:
        """Run one statement and return its rows."""
        return self.run(Statement(text, params))

    def run(self, statement: Statement) -> Rows:
        """Run *statement* and return its rows."""
        return sync.run(self.connection, statement)

    @property
    def server_pid(self) -> int:
        """The process that all processes of the server are children of."""
        return parent_of(self.connection.info.backend_pid)

    def settle(self) -> None:
        """Leave nothing to do for later that the fill began: no vacuum, no statistics, no checkpoint."""
        self.rows("VACUUM (ANALYZE) pepsi.workqueue, pepsi.workqueue_body")
        self.rows("CHECKPOINT")


class Arena:
    """A running server. *directory* is its state directory and has room for other files."""

    def __init__(self, dsn: str, directory: Path) -> None:
        self.directory = directory
        self._dsn = dsn
        self._numbers = itertools.count(1)

    @contextmanager
    def database(self, fill: Callable[[Database], None]) -> Iterator[Database]:
        """Make a database with the schema and what *fill* puts into it, for the length of a block."""
        with self._made("template1") as database:
            for file in schema.shipped():
                database.run(file.statement)
            fill(database)
            database.settle()
            yield database

    @contextmanager
    def copy(self, original: Database) -> Iterator[Database]:
        """Make a database that is *original* page for page, so that every run finds the same."""
        original.connection.close()
        with self._made(original.name) as database:
            database.rows("CHECKPOINT")
            yield database

    @contextmanager
    def _made(self, template: str) -> Iterator[Database]:
        name = f"benchmark_{next(self._numbers)}"
        with closing(connect(self._dsn)) as admin:
            sync.run(admin, Statement(f"CREATE DATABASE {name} TEMPLATE {template}"))
            try:
                database = Database(self._dsn, name)
                with closing(database.connection):
                    yield database
            finally:
                sync.run(admin, Statement(f"DROP DATABASE {name} WITH (FORCE)"))


def connect(dsn: str, *, synchronous_commit: bool = True) -> Connection:
    """Return a connection as pinned as those of Pepsi's own programs, in autocommit mode."""
    return sync.connect(
        Parameters(dsn=dsn, application_name=APPLICATION, synchronous_commit=synchronous_commit, statement_timeout=600)
    )


@contextmanager
def arena(parent: Path | None) -> Iterator[Arena]:
    """Run a server in a new directory under *parent* (by default that of temporary files), which is then removed."""
    directory = Path(tempfile.mkdtemp(prefix="pepsi-benchmark-", dir=parent))
    try:
        with private_server(directory) as dsn:
            yield Arena(dsn, directory)
    finally:
        shutil.rmtree(directory)
