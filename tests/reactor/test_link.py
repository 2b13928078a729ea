"""A connection that breaks while it is being made."""

import psycopg2
import pytest
from twisted.internet import reactor
from twisted.internet.protocol import Factory, Protocol

from pepsi.reactor.link import Link
from tests.support_reactor import with_timeout


class HangsUp(Protocol):
    """What stands before a server that is down: it takes the connection and lets it go again."""

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.loseConnection()


@with_timeout()
async def test_a_server_that_hangs_up_while_we_connect_is_an_error_of_the_connect_and_no_other() -> None:
    # The fixture of with_timeout fails the test for whatever the reactor has to log.
    port = reactor.listenTCP(0, Factory.forProtocol(HangsUp), interface="127.0.0.1")
    lost: list[str] = []
    link = Link(reactor, lambda channel: None, lost.append)
    try:
        with pytest.raises(psycopg2.OperationalError, match="closed the connection"):
            await link.open(f"host=127.0.0.1 port={port.getHost().port} user=x sslmode=disable", [], 5.0)
    finally:
        link.close()
        await port.stopListening()
