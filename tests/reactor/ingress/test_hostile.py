"""Clients that mean ill or are broken: each gets a correct answer, and nobody else notices."""

import contextlib
import socket
import struct

import psutil
import pytest
from twisted.internet.threads import deferToThread

from tests.support_reactor import with_timeout
from tests.support_smtp import Client, open_door
from tests.unit.ingress.test_dataphase import SMUGGLED_ENDS

MIB = 2**20
SMUGGLED = b"MAIL FROM:<evil@x>\r\nRCPT TO:<v@here.example>\r\nDATA\r\nsmuggled\r\n.\r\n"


def send_message(address: str) -> None:
    """What an honest client does meanwhile."""
    with Client(address) as client:
        client.open_message()
        client.send(b"honest\r\n.\r\n")
        client.expect(250)
        client.say(b"QUIT", 221)


def flood(client: Client, total: int) -> int:
    """Send *total* bytes without a line end, or as many as the server takes before it closes; return how many."""
    sent, block = 0, b"x" * MIB
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while sent < total:
            sent += client.socket.send(block)
    return sent


@pytest.mark.parametrize("end", SMUGGLED_ENDS)
@with_timeout()
async def test_a_second_message_cannot_be_smuggled_in(end: bytes):
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message()
            client.send(b"Subject: x\r\n\r\nx" + end + SMUGGLED)
            assert client.expect(550).startswith("5.6.11")
            client.say(b"NOOP", 250)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert running.store.arrivals == []


@pytest.mark.parametrize("spoilt", [b"a\nb", b"a\rb", b"a\0b", b"a\r\rb", b"\n", b"\r"])
@with_timeout()
async def test_a_message_with_a_bare_line_end_or_nul_is_refused_and_the_next_one_taken(spoilt: bytes):
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message()
            client.send(spoilt + b"\r\n.\r\n")
            client.expect(550)
        send_message(address)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert len(running.store.arrivals) == 1


@with_timeout(60)
async def test_a_line_of_a_hundred_megabytes_in_a_message_is_refused_at_its_end_and_takes_no_memory():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message()
            before = psutil.Process().memory_info().rss
            assert flood(client, 100 * MIB) == 100 * MIB
            assert psutil.Process().memory_info().rss - before < 30 * MIB
            send_message(address)
            client.send(b"\r\n.\r\n")
            assert client.expect(552).startswith("5.3.4")
            client.say(b"NOOP", 250)

    async with open_door(max_message_size=MIB) as running:
        await deferToThread(dialogue, running.address)
        assert running.door.house.budget.room == running.door.options.message_room


@with_timeout(60)
async def test_a_command_of_a_hundred_megabytes_is_cut_off_with_an_answer():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            before = psutil.Process().memory_info().rss
            flood(client, 100 * MIB)
            assert psutil.Process().memory_info().rss - before < 30 * MIB
            assert client.expect(500).startswith("5.5.2")
            client.expect_end()
        send_message(address)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)


@with_timeout()
async def test_the_rest_of_a_line_that_is_too_long_is_never_taken_for_commands():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.send(b"x" * 5000 + b"\r\n" + b"EHLO c\r\n" + SMUGGLED)
            client.expect(500)
            client.expect_end()

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert running.store.arrivals == []


@with_timeout(20)
async def test_a_client_that_is_cut_off_can_say_what_it_has_to_say_and_read_why():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.send(b"x" * MIB)
            client.expect(500)
            client.expect_end()

    async with open_door() as running:
        await deferToThread(dialogue, running.address)


@with_timeout(20)
async def test_a_client_that_is_cut_off_cannot_keep_the_door_reading():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            assert flood(client, 1000 * MIB) < 100 * MIB

    async with open_door() as running:
        await deferToThread(dialogue, running.address)


@with_timeout()
async def test_a_command_line_of_the_limit_is_read_and_one_byte_more_is_not():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.say(b"NOOP " + b"x" * (512 - 5), 250)
            client.say(b"NOOP " + b"x" * (513 - 5), 500)
            client.expect_end()

    async with open_door(max_command_length=512) as running:
        await deferToThread(dialogue, running.address)


@with_timeout()
async def test_octets_that_are_not_ascii_pass_in_a_message_and_are_refused_in_commands():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.say(b"\xff\xfe", 500)
            client.say(b"EHLO \xff\xc3\xb6", 250)
            client.say(b"MAIL FROM:<\xff@x>", 501)
            client.open_message()
            client.send(b"Subject: \xff\xfe\r\n\r\n\xc3\r\n.\r\n")
            client.expect(250)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert running.store.arrivals[0].message.endswith(b"Subject: \xff\xfe\r\n\r\n\xc3\r\n")


@with_timeout()
async def test_a_disconnect_in_the_middle_of_a_message_keeps_nothing_and_gives_the_memory_back():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message()
            client.send(b"x" * 100_000)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        send_message(address)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
        await running.door.sessions.emptied()
        assert running.door.house.budget.room == running.door.options.message_room
    assert len(running.store.arrivals) == 1


@with_timeout()
async def test_a_client_that_leaves_while_its_message_is_stored_gives_the_memory_back_afterwards():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message()
            client.send(b"x\r\n.\r\n")
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async with open_door() as running:
        running.store.slow = True
        await deferToThread(dialogue, running.address)
        await running.store.asked()
        await running.door.sessions.emptied()
        assert running.door.house.budget.room < running.door.options.message_room
        running.store.catch_up()
        assert running.door.house.budget.room == running.door.options.message_room


@with_timeout(30)
async def test_a_client_that_reads_no_answers_is_not_answered_without_end():
    def dialogue(address: str) -> int:
        with Client(address) as client:
            client.send(b"EHLO c\r\nMAIL FROM:<>\r\n")
            client.socket.settimeout(1)
            sent, block = 0, b"RCPT TO:<b@here.example>\r\n" * 4096
            with contextlib.suppress(TimeoutError):
                while sent < 200 * MIB:
                    sent += client.socket.send(block)
            return sent

    async with open_door() as running:
        before = psutil.Process().memory_info().rss
        assert await deferToThread(dialogue, running.address) < 200 * MIB
        assert psutil.Process().memory_info().rss - before < 30 * MIB
        await deferToThread(send_message, running.address)


@with_timeout()
async def test_a_browser_is_sent_away_before_its_form_becomes_commands():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nEHLO c\r\n" + SMUGGLED)
            client.expect(421)
            client.expect_end()

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert running.store.arrivals == []


@with_timeout()
async def test_too_many_errors_end_the_session():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.send(b"FOO\r\n" * 100)
            client.expect(500, 500, 500, 500, 421)
            client.expect_end()

    async with open_door(max_errors=5) as running:
        await deferToThread(dialogue, running.address)


@with_timeout()
async def test_a_stranger_cannot_relay_and_an_early_one_is_not_served():
    def dialogue(address: str) -> None:
        with Client(address, greeted=False) as client:
            client.send(b"EHLO c\r\n")
            client.expect(554)
            client.expect_end()

    def relay(address: str) -> None:
        with Client(address) as client:
            client.send(b"EHLO c\r\nMAIL FROM:<a@here.example>\r\nRCPT TO:<x@there.example>\r\nDATA\r\n")
            client.expect(250, 250, 554, 554)

    async with open_door(relay_networks=(), greeting_delay=60.0) as running:
        await deferToThread(dialogue, running.address)
    async with open_door(relay_networks=(), greeting_delay=0.01) as running:
        await deferToThread(relay, running.address)
    assert running.store.arrivals == []


@with_timeout()
async def test_a_fault_of_our_own_is_a_temporary_error_and_shows_nothing_of_itself(clean_reactor):
    class Broken:
        def submit(self, arrival: object) -> None:
            raise RuntimeError("secret details")

    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message()
            client.send(b"x\r\n.\r\n")
            assert "secret" not in client.expect(421)
            client.expect_end()

    async with open_door(store=Broken()) as running:
        await deferToThread(dialogue, running.address)
        await running.door.sessions.emptied()
        assert running.door.house.budget.room == running.door.options.message_room
    assert "secret details" in str(clean_reactor[0]["failure"])
    clean_reactor.clear()
