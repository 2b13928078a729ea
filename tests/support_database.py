"""A database with the schema in it, for one test."""

import itertools
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from psycopg2.extensions import connection as Connection
from psycopg2.extensions import make_dsn

from pepsi.db import schema, sync
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement

_numbers = itertools.count(1)


class Database:
    """A database of its own. What was connected by it is closed with it."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._connections: list[Connection] = []

    def connect(self, application_name: str = "pepsi-test", **parameters: Any) -> Connection:
        """Return a new psycopg2 connection, pinned and in autocommit mode."""
        connection = sync.connect(Parameters(**{"dsn": self.dsn, "application_name": application_name, **parameters}))
        self._connections.append(connection)
        return connection

    def rows(self, text: str, **params: Any) -> list[tuple[Any, ...]]:
        """Run one statement on a connection kept for this, and return its rows."""
        return self.run(Statement(text, params))

    def run(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Run *statement* on a connection kept for this, and return its rows."""
        return sync.run(self.connection, statement)

    @property
    def connection(self) -> Connection:
        """The connection kept for statements of the test itself."""
        return self._connections[0] if self._connections else self.connect()

    def value(self, text: str, **params: Any) -> Any:
        """Run one statement and return the only column of its only row."""
        ((value,),) = self.rows(text, **params)
        return value

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()


@contextmanager
def new_database(server: str, *, template: str = "template1", name: str | None = None) -> Iterator[Database]:
    """Make a database on *server* as a copy of *template*; it is dropped afterwards, whoever still uses it."""
    admin = Parameters(dsn=server, application_name="pepsi-test-server")
    with closing(sync.connect(admin)) as connection:
        name = name or f"pepsi_test_{connection.info.backend_pid}_{next(_numbers)}"
        sync.run(connection, Statement(f"CREATE DATABASE {name} TEMPLATE {template}"))
        database = Database(make_dsn(server, dbname=name))
        try:
            yield database
        finally:
            database.close()
            sync.run(connection, Statement(f"DROP DATABASE {name} WITH (FORCE)"))


def install(database: Database) -> None:
    """Put the schema into *database*, and disconnect, so that it can serve as a template."""
    connection = database.connect()
    for file in schema.shipped():
        sync.run(connection, file.statement)
    database.close()
