"""Which database a configuration means."""

from pepsi.config.load import Base
from pepsi.db.session import Parameters

EMBEDDED = "embedded"
"""The value of ``[pepsi-postgres] DSN`` that means the private server."""


def is_embedded(config: Base) -> bool:
    """Whether *config* asks for the private server. Then some long-lived program must run it: see ``db.embedded``."""
    return config.postgres.dsn == EMBEDDED


def dsn_of(config: Base) -> str:
    """Return the libpq string of the database of *config*. Raises DatabaseError if the private server does not run.

    Where *config* asks for the private server, variables of libpq are taken out of the environment.
    """
    if not is_embedded(config):
        return config.postgres.dsn
    # Imported here: it is a seventh of a worker's start, and most workers connect to a server that others run.
    from pepsi.db.embedded import connection_of, forget_libpq_variables

    forget_libpq_variables()
    return connection_of(config.pepsi.state_directory)


def parameters_of(config: Base, application_name: str, *, synchronous_commit: bool = True) -> Parameters:
    """Return what a session of the program *application_name* is made with. Raises DatabaseError as ``dsn_of`` does."""
    return Parameters(
        dsn=dsn_of(config),
        application_name=application_name,
        connect_timeout=config.postgres.connect_timeout,
        statement_timeout=config.postgres.statement_timeout,
        synchronous_commit=synchronous_commit,
    )
