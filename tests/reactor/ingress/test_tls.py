"""STARTTLS and AUTH: encrypted or not at all, and nothing said before counts after."""

import contextlib
import smtplib
import ssl
import threading
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from cryptography.hazmat.primitives import serialization
from twisted.internet import reactor
from twisted.internet.threads import deferToThread

from pepsi.errors import ConfigError
from pepsi.ingress.auth import Credentials
from pepsi.ingress.passwords import PasswordFile, set_password
from pepsi.ingress.tls import ServerTls
from pepsi.ingress.verifier import THREADS, WAITING_LIMIT, Verifier
from tests.fakes import MemoryStore
from tests.support_reactor import with_timeout
from tests.support_smtp import Client, make_certificate, open_door

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PLAIN = b"AUTH PLAIN " + b64encode(b"\0alice\0s3cret")


@pytest.fixture
def secured(tmp_path: Path) -> dict[str, Any]:
    """What to open a door with for TLS and a user alice."""
    certificate, key = make_certificate(tmp_path)
    passwords = tmp_path / "passwords"
    set_password(passwords, "alice", "s3cret", QUICK)
    verifier = Verifier(reactor, PasswordFile(str(passwords), {}, QUICK).is_right)
    return {"tls": ServerTls(certificate, key), "verifier": verifier, "relay_networks": ()}


@with_timeout(20)
async def test_smtplib_logs_in_over_tls_and_may_relay(secured: dict[str, Any], tmp_path: Path):
    def dialogue(address: str, mechanism: str) -> None:
        host, _, port = address.partition(":")
        with smtplib.SMTP(host, int(port), timeout=20) as client:
            client.starttls(context=ssl.create_default_context(cafile=str(tmp_path / "certificate.pem")))
            client.ehlo()
            assert client.has_extn("auth") and not client.has_extn("starttls")
            client.user, client.password = "alice", "s3cret"
            with pytest.raises(smtplib.SMTPAuthenticationError):
                client.login("alice", "wrong")
            client.user, client.password = "alice", "s3cret"
            client.auth(mechanism, getattr(client, f"auth_{mechanism.lower()}"))
            client.sendmail("a@here.example", ["b@there.example"], "x\r\n")

    async with open_door(**secured) as running:
        for mechanism in ("PLAIN", "LOGIN"):
            await deferToThread(dialogue, running.address, mechanism)
    for arrival in running.store.arrivals:
        assert (arrival.auth_login, arrival.peer, arrival.state) == ("alice", "127.0.0.1", {"local_origin": True})
        assert b" with ESMTPSA id" in arrival.message
    assert len(running.store.arrivals) == 2


@with_timeout()
async def test_what_is_sent_behind_starttls_in_the_clear_is_never_carried_out(secured: dict[str, Any]):
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.send(b"EHLO c\r\nSTARTTLS\r\nMAIL FROM:<a@b>\r\nRCPT TO:<injected@here.example>\r\n")
            client.expect(250, 503)
            client.expect_end()

    async with open_door(**secured) as running:
        await deferToThread(dialogue, running.address)


@with_timeout()
async def test_an_envelope_from_before_the_handshake_is_forgotten(secured: dict[str, Any]):
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.say(b"EHLO c", 250)
            client.say(b"MAIL FROM:<a@b>", 250)
            client.say(b"RCPT TO:<b@here.example>", 250)
            client.start_tls()
            client.say(b"DATA", 503)
            client.say(b"MAIL FROM:<a@b>", 503)
            client.open_message()
            client.send(b"x\r\n.\r\n")
            client.expect(250)
            client.say(b"STARTTLS", 503)
            client.say(b"QUIT", 221)

    async with open_door(**secured) as running:
        await deferToThread(dialogue, running.address)
    assert b" with ESMTPS id" in running.store.arrivals[0].message


@with_timeout(20)
async def test_a_large_message_over_tls_is_the_same(secured: dict[str, Any]):
    data = b"Subject: x\r\n\r\n" + b".line\r\n" * 300_000

    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.say(b"EHLO c", 250)
            client.start_tls()
            client.open_message()
            client.send(data.replace(b"\r\n.", b"\r\n..") + b".\r\n")
            client.expect(250)

    async with open_door(**secured) as running:
        await deferToThread(dialogue, running.address)
    assert running.store.arrivals[0].message.endswith(data)


# Twisted hands its certificates to pyOpenSSL in a form that the newest releases frown at.
@pytest.mark.filterwarnings("ignore:Passing pyOpenSSL:DeprecationWarning")
@with_timeout()
async def test_tls_from_the_first_byte_is_offered_by_an_endpoint(secured: dict[str, Any], tmp_path: Path):
    def dialogue(address: str) -> None:
        host, _, port = address.partition(":")
        context = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
        with smtplib.SMTP_SSL(host, int(port), timeout=20, context=context) as client:
            client.ehlo()
            assert client.has_extn("auth") and not client.has_extn("starttls")
            client.login("alice", "s3cret")
            client.sendmail("a@here.example", ["b@there.example"], "x\r\n")

    listen = f"ssl:0:privateKey={tmp_path}/key.pem:certKey={tmp_path}/certificate.pem:interface=127.0.0.1"
    async with open_door(listen=(listen,), **secured) as running:
        await deferToThread(dialogue, running.address)
        await running.door.sessions.emptied()
    assert b" with ESMTPSA id" in running.store.arrivals[0].message


@with_timeout()
async def test_a_handshake_that_fails_harms_nobody(secured: dict[str, Any]):
    def broken(address: str) -> None:
        with Client(address) as client:
            client.say(b"STARTTLS", 220)
            client.send(b"this is no handshake\r\n" * 10)
            with contextlib.suppress(ConnectionResetError):
                while client.socket.recv(4096):
                    pass

    def honest(address: str) -> None:
        with Client(address) as client:
            client.say(b"EHLO c", 250)
            client.start_tls()
            client.say(b"NOOP", 250)

    async with open_door(**secured) as running:
        await deferToThread(broken, running.address)
        await deferToThread(honest, running.address)


@with_timeout()
async def test_no_password_is_asked_for_in_the_clear(secured: dict[str, Any]):
    def dialogue(address: str) -> None:
        with Client(address) as client:
            assert "AUTH" not in client.say(b"EHLO c", 250)
            client.say(PLAIN, 538)

    async with open_door(**secured) as running:
        await deferToThread(dialogue, running.address)


@pytest.mark.filterwarnings("ignore:Comparison between bytes and string:BytesWarning")
@with_timeout()
async def test_on_a_local_socket_a_password_outweighs_the_login_of_the_process(secured: dict[str, Any], tmp_path: Path):
    def dialogue(address: str) -> None:
        with Client(address) as client:
            assert "AUTH PLAIN LOGIN" in client.say(b"EHLO c", 250)
            client.send(PLAIN + b"\r\nNOOP\r\n")
            client.expect(235, 250)
            client.say(PLAIN, 503)
            client.open_message(recipient=b"b@there.example")
            client.send(b"x\r\n.\r\n")
            client.expect(250)

    async with open_door(listen=(f"unix:{tmp_path}/smtp:mode=600",), **secured) as running:
        await deferToThread(dialogue, running.address)
    assert running.store.arrivals[0].auth_login == "alice"


@with_timeout()
async def test_lines_of_an_exchange_are_bounded_and_wrong_passwords_run_out(secured: dict[str, Any]):
    def long(address: str) -> None:
        with Client(address) as client:
            client.say(b"EHLO c", 250)
            client.start_tls()
            client.say(b"EHLO c", 250)
            client.say(b"AUTH LOGIN", 334)
            client.say(b"A" * 12_288, 334)
            client.say(b"*", 501)
            client.say(b"AUTH LOGIN", 334)
            client.say(b"A" * 12_289, 500)
            client.expect_end()

    def wrong(address: str) -> None:
        with Client(address) as client:
            client.say(b"EHLO c", 250)
            client.start_tls()
            client.say(b"EHLO c", 250)
            client.send(b"AUTH PLAIN AGEAYg==\r\n" * 3)
            client.expect(535, 535, 421)
            client.expect_end()

    async with open_door(**secured) as running:
        await deferToThread(long, running.address)
        await deferToThread(wrong, running.address)


@with_timeout()
async def test_a_password_file_that_cannot_be_read_is_a_temporary_error(secured: dict[str, Any], tmp_path: Path):
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.say(b"EHLO c", 250)
            client.start_tls()
            client.say(b"EHLO c", 250)
            client.say(PLAIN, 454)
            set_password(tmp_path / "passwords", "alice", "s3cret", QUICK)
            client.say(PLAIN, 235)

    (tmp_path / "passwords").unlink()
    async with open_door(**secured) as running:
        await deferToThread(dialogue, running.address)


@with_timeout(20)
async def test_checks_are_few_at_a_time_and_those_beyond_the_bound_are_put_off(secured: dict[str, Any]):
    going, free = threading.Semaphore(0), threading.Event()
    running_now: set[int] = set()

    def is_right(login: str, password: str) -> bool:
        running_now.add(threading.get_ident())
        going.release()
        free.wait(20)
        return True

    def log_in(address: str, code: int) -> None:
        with Client(address) as client:
            client.say(b"EHLO c", 250)
            client.start_tls()
            client.say(b"EHLO c", 250)
            client.say(PLAIN, code)

    store = MemoryStore()
    secured["verifier"] = verifier = Verifier(reactor, is_right)
    async with open_door(store=store, **secured) as running:
        checks = [verifier.verify(Credentials("alice", "s3cret")) for _ in range(WAITING_LIMIT)]
        await deferToThread(going.acquire)
        await deferToThread(log_in, running.address, 454)
        free.set()
        for check in checks:
            assert await check
        await deferToThread(log_in, running.address, 235)
    assert len(running_now) <= THREADS


def test_a_certificate_and_a_key_that_do_not_fit_are_told_before_the_start(tmp_path: Path):
    (tmp_path / "other").mkdir()
    certificate, key = make_certificate(tmp_path)
    _, other = make_certificate(tmp_path / "other")
    ServerTls(certificate, key)
    both = tmp_path / "both.pem"
    both.write_bytes(key.read_bytes() + certificate.read_bytes() + certificate.read_bytes())
    ServerTls(both, both)
    locked = tmp_path / "locked.pem"
    locked.write_bytes(
        serialization.load_pem_private_key(key.read_bytes(), None).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
        )
    )
    none = tmp_path / "none.pem"
    for files in ((certificate, other), (certificate, certificate), (key, key), (certificate, locked), (none, none)):
        with pytest.raises(ConfigError, match=r"_FILE"):
            ServerTls(*files)
