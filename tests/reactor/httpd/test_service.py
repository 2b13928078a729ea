"""The server for metrics: two pages, nothing else, and nobody can make it work hard."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from twisted.internet import reactor
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IProtocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.web.test.requesthelper import DummyRequest

from pepsi.errors import ConfigError
from pepsi.httpd.service import BODY_LIMIT, CONNECTIONS, IDLE, Bounded, MetricsService, Pages
from pepsi.sched.meters import Meters
from pepsi.sched.reading import Reading
from tests.support_reactor import with_timeout

LOOPBACK = "tcp:0:interface=127.0.0.1"

# Twisted compares the path of a socket with bytes and with text, which only a Python that is told to be strict minds.
pytestmark = pytest.mark.filterwarnings("ignore::BytesWarning")


def reading() -> Reading:
    return Reading(epoch=None, sessions={}, gauges=None, meters=Meters())


@asynccontextmanager
async def served(where: str = LOOPBACK) -> AsyncIterator[MetricsService]:
    failures: list[str] = []
    service = MetricsService(reactor, where, reading, failures.append)
    service.privilegedStartService()
    service.startService()
    assert not failures
    try:
        yield service
    finally:
        await service.stopService()


def connected(address: str) -> socket.socket:
    if address.startswith("/"):
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(10)
        made.connect(address)
        return made
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def exchange(address: str, *pieces: bytes) -> bytes:
    """Send *pieces* and return all that is answered until the other side closes the connection."""
    with connected(address) as client:
        answer = b""
        try:
            for piece in pieces:
                client.sendall(piece)
            while data := client.recv(65536):
                answer += data
        except (ConnectionResetError, BrokenPipeError):
            pass  # cut off
        return answer


async def ask(service: MetricsService, method: str, path: str) -> tuple[int, bytes, bytes]:
    """Return status, head and body of an answer."""
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    head, _, body = (await deferToThread(exchange, service.address, request)).partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), head.lower(), body


@with_timeout()
async def test_metrics_are_text_that_prometheus_reads() -> None:
    async with served() as service:
        status, head, body = await ask(service, "GET", "/metrics")
        assert status == 200
        assert b"content-type: text/plain; version=0.0.4" in head
        assert b"\npepsi_lock_held 0.0\n" in body
        assert b"\nprocess_open_fds " in body


def test_a_page_is_made_once_a_second_at_most() -> None:
    made = 0

    def counted() -> Reading:
        nonlocal made
        made += 1
        return reading()

    clock = Clock()
    pages = Pages(counted, clock.seconds)
    for _ in range(30):
        request = DummyRequest([])  # type: ignore[no-untyped-call]
        request.method, request.path = b"GET", b"/metrics"
        assert b"pepsi_lock_held" in pages.render(request)
        clock.advance(0.25)
    assert made == 8


@with_timeout()
async def test_the_health_page_names_what_is_wrong() -> None:
    async with served() as service:
        status, _, body = await ask(service, "GET", "/healthz")
        assert (status, body) == (503, b"starting, or waiting for the dispatcher's lock\n")


@with_timeout()
async def test_every_other_path_is_not_found_and_every_other_method_not_allowed() -> None:
    async with served() as service:
        for path in ("/", "/metrics/", "/metricsx", "/../metrics", "/%2e/metrics"):
            assert (await ask(service, "GET", path))[0] == 404
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert (await ask(service, method, "/metrics"))[0] == 405


@with_timeout()
async def test_head_is_answered_without_a_body() -> None:
    async with served() as service:
        status, head, body = await ask(service, "HEAD", "/metrics")
        assert (status, body) == (200, b"")
        assert b"content-length: " in head


@with_timeout(30)
async def test_what_is_too_long_is_cut_off() -> None:
    async with served() as service:
        start = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
        endless = start + b"Content-Length: 1000000000\r\n\r\n"
        assert await deferToThread(exchange, service.address, endless, b"x" * BODY_LIMIT, b"y" * 1_000_000) == b""
        headers = b"".join(b"X-%d: %s\r\n" % (number, b"z" * 1000) for number in range(100))
        assert b" 200 " not in await deferToThread(exchange, service.address, start + headers + b"\r\n")
        line = b"GET /" + b"m" * 1_000_000 + b" HTTP/1.1\r\n\r\n"
        assert b" 200 " not in await deferToThread(exchange, service.address, line)
        assert (await ask(service, "GET", "/metrics"))[0] == 200


def client(clock: Clock) -> tuple[IProtocol, StringTransport]:
    """A client's connection: what it sends is given to the one, what it is sent lies in the other."""
    transport = StringTransport()
    protocol = Bounded(reading, clock).buildProtocol(None)
    protocol.makeConnection(transport)
    return protocol, transport


def test_who_sends_a_byte_now_and_then_keeps_no_place() -> None:
    clock = Clock()
    protocol, transport = client(clock)
    for byte in b"GET /metrics HTTP/1.1\r\n":
        protocol.dataReceived(bytes([byte]))
        clock.advance(IDLE / 10)
    assert transport.disconnected
    protocol.connectionLost(Failure(ConnectionDone()))
    assert not clock.getDelayedCalls()


def test_who_asks_now_and_then_is_answered_all_day() -> None:
    clock = Clock()
    protocol, transport = client(clock)
    for _ in range(100):
        clock.advance(IDLE * 0.9)
        protocol.dataReceived(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 OK" in transport.value()
        transport.clear()
    assert not transport.disconnecting


@with_timeout(30)
async def test_one_client_too_many_is_turned_away_and_served_when_another_has_gone() -> None:
    async with served() as service:
        clients = [await deferToThread(connected, service.address) for _ in range(CONNECTIONS)]
        for client in clients:
            # Its connection is known to be accepted once it is answered.
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await deferToThread(client.recv, 100)
        assert await deferToThread(exchange, service.address) == b""
        clients.pop().close()
        answered = b""
        while not answered:
            answered = await deferToThread(exchange, service.address, b"GET /healthz HTTP/1.0\r\n\r\n")
        for client in clients:
            client.close()


@with_timeout()
async def test_it_listens_on_a_socket_of_the_file_system_too(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    async with served(f"unix:{path}:mode=600") as service:
        assert path.stat().st_mode & 0o777 == 0o600
        assert (await ask(service, "GET", "/metrics"))[0] == 200
    assert not path.exists()


@with_timeout()
async def test_an_address_that_is_taken_is_an_error_that_names_the_key() -> None:
    async with served() as service:
        failures: list[str] = []
        port = service.address.rpartition(":")[2]
        second = MetricsService(reactor, f"tcp:{port}:interface=127.0.0.1", reading, failures.append)
        second.privilegedStartService()
        await second.stopService()
        assert failures[0].startswith(f"cannot listen where [pepsi-dispatch] METRICS_LISTEN says, tcp:{port}:")
        assert "in use" in failures[0]


def test_what_is_no_endpoint_is_an_error_that_names_the_key() -> None:
    with pytest.raises(ConfigError, match=r"\[pepsi-dispatch\] METRICS_LISTEN tcp:many: no such endpoint"):
        MetricsService(reactor, "tcp:many", reading, lambda why: None)
