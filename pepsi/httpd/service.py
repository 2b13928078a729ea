"""A small HTTP server for one page of metrics, and one that says whether mail is dispatched.

Who connects is not trusted: requests, their number and the time they may take are bounded, and nothing that was sent is
kept.
"""

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IAddress, IDelayedCall, IListeningPort
from twisted.logger import Logger
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from pepsi.httpd.exposition import CONTENT_TYPE, Exposition
from pepsi.model.text import one_line
from pepsi.reactor.listening import endpoint, shown
from pepsi.sched.reading import Reading

KEY = "[pepsi-dispatch] METRICS_LISTEN"
CONNECTIONS = 16
"""Clients at once; more are turned away. Each costs a descriptor, which workers need more."""
IDLE = 30
"""Seconds from one answer to the next, however much of a request has come meanwhile: who sends a byte now and then
would keep a place for hours."""
FRESH = 1.0
"""Seconds for which a page is good: whoever asks again and again does not keep the dispatcher from its work."""
BODY_LIMIT = 65_536
"""Bytes of a request's body, of which none is wanted, after which the client is cut off."""


class Pages(Resource):
    """``/metrics`` and ``/healthz``."""

    isLeaf = True

    def __init__(self, read: Callable[[], Reading], clock: Callable[[], float]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._read = read
        self._clock = clock
        self._exposition = Exposition(read)
        self._metrics = b""
        self._rendered_at = float("-inf")

    def render(self, request: Any) -> bytes:
        """Answer. To HEAD as to GET, without the page itself."""
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader(b"allow", b"GET, HEAD")
            return _page(request, 405, b"there is nothing but GET and HEAD\n")
        page = self._get(request)
        if request.method == b"GET":
            return page
        request.setHeader(b"content-length", b"%d" % len(page))
        return b""

    def _get(self, request: Any) -> bytes:
        match request.path:
            case b"/metrics":
                return _page(request, 200, self._page_of_metrics(), CONTENT_TYPE)
            case b"/healthz":
                trouble = self._read().trouble
                return _page(request, 503 if trouble else 200, f"{trouble or 'ok'}\n".encode())
        return _page(request, 404, b"there are /metrics and /healthz\n")

    def _page_of_metrics(self) -> bytes:
        now = self._clock()
        if now - self._rendered_at >= FRESH:
            self._metrics, self._rendered_at = self._exposition.render(), now
        return self._metrics


def _page(request: Any, code: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> bytes:
    request.setResponseCode(code)
    request.setHeader(b"content-type", content_type.encode())
    return body


class BodilessRequest(Request):
    """A request whose body is thrown away as it comes."""

    thrown_away = 0

    def gotLength(self, length: int | None) -> None:
        """Make no file for the body, however long it is said to be."""
        self.content = BytesIO()

    def handleContentChunk(self, data: bytes) -> None:
        """Drop *data*, and a client that sends too much of it."""
        self.thrown_away += len(data)
        if self.thrown_away > BODY_LIMIT:
            self.channel.forceAbortClient()  # type: ignore[no-untyped-call]


class QuietSite(Site):
    """A site that leaves no line in the log for each request."""

    noisy = False

    def log(self, request: Any) -> None:
        """Say nothing: whoever fetches metrics does so all day."""


class Hurried(ProtocolWrapper):
    """A connection that is cut off when nothing was answered for too long."""

    _deadline: IDelayedCall

    def makeConnection(self, transport: Any) -> None:
        """The first request is waited for."""
        self._deadline = self.factory.clock.callLater(IDLE, transport.abortConnection)
        super().makeConnection(transport)  # type: ignore[no-untyped-call]

    def write(self, data: bytes) -> None:
        """Part of an answer: the next request has time from now on."""
        self._answering()
        super().write(data)  # type: ignore[no-untyped-call]

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Likewise."""
        self._answering()
        super().writeSequence(data)  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """It is over."""
        if self._deadline.active():
            self._deadline.cancel()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def _answering(self) -> None:
        if self._deadline.active():
            self._deadline.reset(IDLE)


class Bounded(WrappingFactory[Hurried]):
    """Turns clients away that are too many, and cuts off those that take too long."""

    protocol = Hurried
    noisy = False

    def __init__(self, read: Callable[[], Reading], clock: Any) -> None:
        site = QuietSite(Pages(read, clock.seconds), requestFactory=BodilessRequest, timeout=IDLE, reactor=clock)  # type: ignore[no-untyped-call]
        super().__init__(site)  # type: ignore[no-untyped-call]
        self.clock = clock

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Return a protocol, or None for one too many, which closes the connection."""
        return super().buildProtocol(addr) if len(self.protocols) < CONNECTIONS else None


class MetricsService(Service):
    """Serves what *read* returns at the endpoint *string*.

    That it cannot listen there is told to *fail*. Raises ConfigError for a string that is no endpoint.
    """

    log = Logger()

    def __init__(self, reactor: Any, string: str, read: Callable[[], Reading], fail: Callable[[str], None]) -> None:
        self._string = string
        self._endpoint = endpoint(reactor, string, KEY)
        self._factory = Bounded(read, reactor)
        self._fail = fail
        self._port: IListeningPort | None = None

    @property
    def address(self) -> str:
        """Where it listens: ``host:port`` with the real port, or the path of a socket; empty if it does not."""
        return "" if self._port is None else shown(self._port.getHost())

    def privilegedStartService(self) -> None:
        """Listen."""
        self._endpoint.listen(self._factory).addCallbacks(self._listening, self._deaf)

    def stopService(self) -> "Deferred[None]":
        """Listen no more, and let nobody linger."""
        super().stopService()  # type: ignore[no-untyped-call]
        port, self._port = self._port, None
        for client in list(self._factory.protocols):
            client.transport.abortConnection()
        return succeed(None) if port is None else port.stopListening() or succeed(None)

    def _listening(self, port: IListeningPort) -> None:
        self._port = port
        self.log.info("metrics are served on {address}", address=self.address)

    def _deaf(self, failure: Failure) -> None:
        why = one_line(failure.getErrorMessage())
        self._fail(f"cannot listen where {KEY} says, {self._string}: {why}")
