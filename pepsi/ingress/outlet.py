"""What is written to a client: at once where the socket takes it, never more than a client that reads it needs."""

from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IOpenSSLContextFactory, IPushProducer
from twisted.internet.tcp import Connection
from zope.interface import implementer


class Transport(Protocol):
    """What is asked of a connection, encrypted or not."""

    def write(self, data: bytes, /) -> object: ...
    def registerProducer(self, producer: IPushProducer, streaming: bool, /) -> object: ...
    def unregisterProducer(self) -> object: ...
    def loseConnection(self) -> object: ...
    def abortConnection(self) -> object: ...


@implementer(IPushProducer)
class Outlet:
    """The writing half of a connection. *resumed* is called when a client reads again that had stopped to.

    A reply is sent directly where that is possible: arming the reactor for each would cost more than the reply.
    """

    def __init__(self, transport: Transport, resumed: Callable[[], None]) -> None:
        self._transport = transport
        self._resumed = resumed
        self.choked = False
        """Whether the client does not read: nothing more should be written for now."""
        self._socket = transport if isinstance(transport, Connection) else None
        if self._socket is None:
            transport.registerProducer(self, True)

    def write(self, data: bytes) -> None:
        """Send *data* after all that was written before."""
        if self._socket is not None:
            sent = self._socket.writeSomeData(data)
            if sent == len(data):
                return
            # Not all of it, or an error, which the reactor will meet again: from here on the reactor keeps the order.
            self._leave_to_reactor()
            data = data[sent:] if isinstance(sent, int) else data
        self._transport.write(data)

    def start_tls(self, context: IOpenSSLContextFactory) -> None:
        """Encrypt all that is written from now on. Only for a connection that is not encrypted."""
        if not isinstance(self._transport, Connection):
            raise TypeError(f"no TLS on {self._transport!r}")
        self._leave_to_reactor()
        self._transport.startTLS(context)  # type: ignore[no-untyped-call]

    def close(self, *, lingering: bool) -> None:
        """Close after all was sent.

        *lingering*: only our side is shut, so that input on its way does not tear the connection down before the client
        has read the last reply. Whoever asks for it closes again, or aborts.
        """
        if self._socket is None:
            self._transport.unregisterProducer()
        if lingering and isinstance(self._transport, Connection) and not self._transport.TLS:
            self._transport.loseWriteConnection()  # type: ignore[no-untyped-call]
        else:
            self._transport.loseConnection()

    def abort(self) -> None:
        """Tear the connection down."""
        self._transport.abortConnection()

    def pauseProducing(self) -> None:
        """The client does not read."""
        self.choked = True

    def resumeProducing(self) -> None:
        """The client reads again."""
        self.choked = False
        self._resumed()

    def stopProducing(self) -> None:
        """The connection is gone; its protocol is told, too."""

    def _leave_to_reactor(self) -> None:
        if self._socket is not None:
            self._socket = None
            self._transport.registerProducer(self, True)
