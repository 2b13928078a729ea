"""A client that says just the bytes it is told to, and an SMTP door to say them to."""

import contextlib
import datetime
import ipaddress
import itertools
import secrets
import socket
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from twisted.internet import reactor
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from pepsi.config.ingress_options import Ingress
from pepsi.ingress.acceptance import Terms
from pepsi.ingress.addresses import Address
from pepsi.ingress.budget import Budget
from pepsi.ingress.conversation import House
from pepsi.ingress.door import Door
from pepsi.ingress.service import DoorService
from pepsi.ingress.sessions import Sessions
from pepsi.ingress.smtp import SmtpSession
from pepsi.ingress.store import Store
from tests.fakes import MemoryStore

PATIENCE = 20.0
"""Seconds after which a silent server fails the test."""


class Client:
    """A raw SMTP client. It blocks: use it in a thread."""

    def __init__(self, address: str, *, greeted: bool = True) -> None:
        if "/" in address:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE)
            self.socket.connect(address)
        else:
            host, _, port = address.rpartition(":")
            self.socket = socket.create_connection((host.strip("[]"), int(port)), PATIENCE)
        self._unread = b""
        if greeted:
            self.expect(220)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exception: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> tuple[int, str]:
        """Return code and text of the next reply; (0, "") if the server closes instead."""
        texts = []
        while True:
            while b"\r\n" not in self._unread:
                data = self._receive()
                if not data:
                    assert not self._unread, f"half a reply: {self._unread!r}"
                    return 0, ""
                self._unread += data
            line, _, self._unread = self._unread.partition(b"\r\n")
            texts.append(line[4:].decode("ascii"))
            if line[3:4] == b" ":
                return int(line[:3]), "\n".join(texts)

    def _receive(self) -> bytes:
        try:
            return self.socket.recv(65536)
        except ConnectionResetError:
            return b""

    def expect(self, *codes: int) -> str:
        """Read a reply for each of *codes*, which they must have; return the text of the last."""
        text = ""
        for code in codes:
            found, text = self.reply()
            assert found == code, f"expected {code}, got {found} {text}"
        return text

    def say(self, line: bytes, code: int) -> str:
        """Send *line* and expect *code*."""
        self.send(line + b"\r\n")
        return self.expect(code)

    def expect_end(self) -> None:
        """The server must close without another word."""
        assert self.reply() == (0, "")

    def open_message(self, sender: bytes = b"a@there.example", recipient: bytes = b"b@here.example") -> None:
        """Go on to the point where the server waits for the data."""
        self.send(b"EHLO c.example\r\nMAIL FROM:<%s>\r\nRCPT TO:<%s>\r\nDATA\r\n" % (sender, recipient))
        self.expect(250, 250, 250, 354)

    def start_tls(self) -> None:
        self.say(b"STARTTLS", 220)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(self.socket)


class Running:
    """A door that is open. *addresses* are as ``DoorService`` has them."""

    def __init__(self, service: DoorService, door: Door) -> None:
        self.service = service
        self.door = door
        self.store: Any = door.store

    @property
    def address(self) -> str:
        return self.service.addresses[0]


def make_door(store: Store | None = None, *, reactor: Any = reactor, **changes: Any) -> Door:
    """Return a door; *changes* are keys of ``[pepsi-ingress]`` in lower case, or *tls* and *verifier* of the door."""
    tls, verifier = changes.pop("tls", None), changes.pop("verifier", None)
    defaults = {
        "entry_stage": "entry",
        "local_domains": ("here.example",),
        "shutdown_timeout": 5.0,
        "max_memory": 2**29,
    }
    options = Ingress(**defaults | changes)
    numbers = itertools.count(1)
    return Door(
        reactor=reactor,
        options=options,
        house=House(
            hostname="mx.here.example",
            postmaster=Address("postmaster", "here.example"),
            terms=Terms(
                local_domains=frozenset(options.local_domains),
                relay_networks=options.relay_networks,
                max_message_size=options.max_message_size,
                max_recipients=options.max_recipients,
                max_hops=options.max_hops,
                max_errors=options.max_errors,
            ),
            budget=Budget(options.message_room),
            offers_tls=tls is not None,
            offers_auth=verifier is not None,
        ),
        sessions=Sessions(options.max_sessions, options.max_sessions_per_peer),
        store=store or MemoryStore(),
        wall_clock=time.time,
        new_id=lambda: f"id{next(numbers)}",
        tls=tls,
        verifier=verifier,
    )


@contextlib.asynccontextmanager
async def open_door(
    *, listen: tuple[str, ...] = ("tcp:0:interface=127.0.0.1",), store: Store | None = None, **changes: Any
) -> AsyncIterator[Running]:
    """Open a door made by ``make_door``, and close it at the end."""
    door = make_door(store, **changes)
    failures: list[str] = []
    service = DoorService(reactor, door, listen, failures.append)
    service.privilegedStartService()
    service.startService()
    assert failures == [], failures
    try:
        yield Running(service, door)
    finally:
        await service.stopService()


class Wire(StringTransport):
    """A connection in memory that knows how it ended."""

    ended = ""

    def setTcpNoDelay(self, enabled: bool) -> None:
        """As a TCP connection has it."""

    def loseConnection(self) -> None:
        super().loseConnection()
        self.ended = self.ended or "closed"

    def abortConnection(self) -> None:
        self.ended = "aborted"

    def codes(self) -> list[bytes]:
        """Return the codes of all replies since the last look."""
        lines = self.value().splitlines()
        self.clear()
        return [line[:3] for line in lines if line[3:4] == b" "]


class Visit:
    """A session on a wire, under a clock; through a *door* that is there already, or one made with *options*."""

    def __init__(self, peer: str = "192.0.2.1", door: Door | None = None, **options: Any) -> None:
        self.clock = Clock()
        self.door = door or make_door(reactor=self.clock, **options)
        self.store: Any = self.door.store
        self.wire = Wire(peerAddress=IPv4Address("TCP", peer, 40_000))
        self.session = SmtpSession(self.door)
        self.session.makeConnection(self.wire)

    def say(self, data: bytes) -> list[bytes]:
        self.session.dataReceived(data)
        return self.wire.codes()

    def wait(self, seconds: float) -> list[bytes]:
        self.clock.advance(seconds)
        return self.wire.codes()

    def open_message(self) -> None:
        """Go on to the point where the data is waited for."""
        self.say(b"EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<b@here.example>\r\nDATA\r\n")


def make_certificate(directory: Path, *, name: str = "mx.here.example") -> tuple[Path, Path]:
    """Write a self-signed certificate and its key into *directory*; return their paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(secrets.randbits(64))
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = directory / "certificate.pem", directory / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    paths[1].chmod(0o600)
    return paths
