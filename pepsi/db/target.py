"""Which database a configuration means."""

from pepsi.config.load import Base
from pepsi.db.embedded import connection_of
from pepsi.db.session import Parameters

EMBEDDED = "embedded"
"""The value of ``[pepsi-postgres] DSN`` that means the private server."""


def is_embedded(config: Base) -> bool:
    """Whether *config* asks for the private server. Then some long-lived program must run it: see ``db.embedded``."""
    return config.postgres.dsn == EMBEDDED


def dsn_of(config: Base) -> str:
    """Return the libpq string of the database of *config*. Raises DatabaseError if the private server does not run."""
    return connection_of(config.pepsi.state_directory) if is_embedded(config) else config.postgres.dsn


def parameters_of(config: Base, application_name: str, *, synchronous_commit: bool = True) -> Parameters:
    """Return what a session of the program *application_name* is made with. Raises DatabaseError as ``dsn_of`` does."""
    return Parameters(
        dsn=dsn_of(config),
        application_name=application_name,
        connect_timeout=config.postgres.connect_timeout,
        statement_timeout=config.postgres.statement_timeout,
        synchronous_commit=synchronous_commit,
    )
