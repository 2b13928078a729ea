"""The database of a service that is to start: the private server is started, or attached to, before the reactor."""

from twisted.application.service import MultiService
from twisted.internet import reactor
from twisted.logger import Logger

from pepsi.config.load import Config
from pepsi.db.embedded import PrivateServer
from pepsi.db.target import dsn_of, is_embedded
from pepsi.reactor.postgres import PostgresService, server_log

log = Logger()


def add_database(parent: MultiService, config: Config) -> str:
    """Return the libpq string of the database of *config*.

    If that is the private server it runs when this returns, and a service under *parent* keeps it running; put it
    there before those that use it. Raises DatabaseError.
    """
    if not is_embedded(config):
        return dsn_of(config)
    server = PrivateServer(config.pepsi.state_directory, log=server_log(log))
    dsn = server.start()
    PostgresService(reactor, server).setServiceParent(parent)  # type: ignore[no-untyped-call]
    return dsn
