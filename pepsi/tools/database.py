"""The database of a configuration, for a tool that may block."""

import contextlib
from collections.abc import Callable, Iterator

from psycopg2.extensions import connection as Connection
from psycopg2.extensions import make_dsn

from pepsi.config.load import Base
from pepsi.db import sync
from pepsi.db.embedded import private_server
from pepsi.db.session import Parameters
from pepsi.db.target import is_embedded


@contextlib.contextmanager
def server(config: Base, say: Callable[[str], None]) -> Iterator[str]:
    """Give the libpq string of the database; a private server that nobody runs is run for the length of the block."""
    if not is_embedded(config):
        yield config.postgres.dsn
        return
    with private_server(config.pepsi.state_directory, log=say) as dsn:
        yield dsn


@contextlib.contextmanager
def connected(dsn: str, config: Base, prog: str, database: str | None = None) -> Iterator[Connection]:
    """Give a blocking connection without a time limit for statements; with *database*, to that one on the same server.

    Raises psycopg2.Error.
    """
    parameters = Parameters(
        dsn=dsn if database is None else make_dsn(dsn, dbname=database),
        application_name=prog,
        connect_timeout=config.postgres.connect_timeout,
    )
    with contextlib.closing(sync.connect(parameters)) as connection:
        yield connection
