"""Ordinary mail through real sockets: what goes in is what is kept, and every answer comes in its turn."""

import smtplib
import socket
from email.message import EmailMessage
from pathlib import Path

import pytest
from twisted.internet import reactor, task
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread

from pepsi.model.envelope import Arrival
from tests.fakes import MemoryStore
from tests.support_reactor import with_timeout
from tests.support_smtp import Client, Visit, open_door


def body_of(arrival: Arrival) -> bytes:
    """Return what was sent: all but the field that the door put on top."""
    return arrival.message.partition(b" +0000\r\n")[2]


def turn() -> Deferred[None]:
    """Let the reactor finish what it is at."""
    return task.deferLater(reactor, 0, lambda: None)


@with_timeout()
async def test_a_message_sent_by_smtplib_is_kept_as_it_was_sent():
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@there.example", "b@here.example", "Grüße"
    message.set_content(".dot\n..dots\n" + "ü" * 80 + "\nend")

    def dialogue(address: str) -> None:
        host, _, port = address.partition(":")
        with smtplib.SMTP(host, int(port), timeout=20) as client:
            client.send_message(message)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    (arrival,) = running.store.arrivals
    assert (arrival.mail_from, arrival.recipients) == ("a@there.example", ("b@here.example",))
    assert body_of(arrival) == message.as_bytes(policy=message.policy.clone(linesep="\r\n", cte_type="8bit"))


@with_timeout()
async def test_the_answer_names_the_id_under_which_the_message_is_kept():
    def dialogue(address: str) -> list[str]:
        with Client(address) as client:
            answers = []
            for _ in range(2):
                client.open_message()
                client.send(b"x\r\n.\r\n")
                answers.append(client.expect(250))
            client.say(b"QUIT", 221)
            client.expect_end()
            return answers

    async with open_door() as running:
        assert await deferToThread(dialogue, running.address) == ["2.0.0 queued as 1", "2.0.0 queued as 2"]


@with_timeout()
async def test_all_that_is_pipelined_is_answered_in_order_though_storing_takes_its_time():
    store = MemoryStore()
    store.slow = True
    one = b"MAIL FROM:<a@b>\r\nRCPT TO:<b@here.example>\r\nDATA\r\nx%d\r\n.\r\n"
    # Real clients wait for the 354. What does not is served all the same, in order.
    everything = b"EHLO c\r\n" + one % 1 + b"NOOP\r\n" + one % 2 + b"FOO\r\n" + one % 3 + b"QUIT\r\n"

    def dialogue(address: str) -> list[str]:
        said = []
        with Client(address) as client:
            client.send(everything)
            while (reply := client.reply())[0]:
                code, text = reply
                said.append(f"{code} {text.rpartition(' ')[2]}" if "queued" in text else str(code))
        return said

    async with open_door(store=store) as running:
        answer = deferToThread(dialogue, running.address)
        while len(store.arrivals) < 3 or store.waiting:
            await store.asked()
            await turn()
            store.catch_up()
        assert await answer == [
            *("250", "250", "250", "354", "250 1", "250"),
            *("250", "250", "354", "250 2", "500"),
            *("250", "250", "354", "250 3", "221"),
        ]
    assert [body_of(arrival) for arrival in store.arrivals] == [b"x1\r\n", b"x2\r\n", b"x3\r\n"]


@with_timeout(30)
async def test_three_thousand_pipelined_recipients_get_three_thousand_answers():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            rcpt = b"".join(b"RCPT TO:<u%d@here.example>\r\n" % number for number in range(3000))
            client.send(b"EHLO c\r\nMAIL FROM:<>\r\n" + rcpt + b"DATA\r\n")
            client.expect(250, 250, *[250] * 3000, 354)
            client.send(b".\r\n")
            client.expect(250)

    async with open_door(max_recipients=3000) as running:
        await deferToThread(dialogue, running.address)
    assert running.store.arrivals[0].recipients[2999] == "u2999@here.example"


@with_timeout(30)
async def test_ten_thousand_recipients_are_told_to_come_again_past_the_limit():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.send(b"EHLO c\r\nMAIL FROM:<>\r\n")
            client.expect(250, 250)
            for thousand in range(10):
                client.send(b"".join(b"RCPT TO:<u%d.%d@here.example>\r\n" % (thousand, n) for n in range(1000)))
                client.expect(*[250 if thousand == 0 else 452] * 1000)
            client.say(b"DATA", 354)
            client.say(b"x\r\n.", 250)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert len(running.store.arrivals[0].recipients) == 1000


@pytest.mark.parametrize("size", [997, 998, 999, 1000, 1001, 4095, 4096, 4097, 16383, 16384, 16385, 65536, 2_000_000])
@with_timeout(20)
async def test_long_lines_come_out_as_they_went_in(size: int):
    data = b"Subject: x\r\n\r\n" + b"." * size + b"\r\n.\r\n" + b"y" * size + b"\r\n"

    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message()
            client.send((b"\r\n" + data).replace(b"\r\n.", b"\r\n..")[2:] + b".\r\n")
            client.expect(250)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert body_of(running.store.arrivals[0]) == data


@with_timeout(20)
async def test_a_message_sent_byte_by_byte_is_the_same():
    data = b"Subject: x\r\n\r\n.\r\n..\r\n.a\r\n\xff\xfe\r\n"

    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sent = (
                b"EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<b@here.example>\r\nDATA\r\n"
                + (b"\r\n" + data).replace(b"\r\n.", b"\r\n..")[2:]
                + b".\r\nQUIT\r\n"
            )
            for at in range(len(sent)):
                client.send(sent[at : at + 1])
            client.expect(250, 250, 250, 354, 250, 221)

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert body_of(running.store.arrivals[0]) == data


@with_timeout()
async def test_a_client_that_shuts_its_side_gets_all_its_answers():
    store = MemoryStore()
    store.slow = True

    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.send(b"EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<b@here.example>\r\nDATA\r\nx\r\n.\r\nNOOP\r\nNOO")
            client.socket.shutdown(socket.SHUT_WR)
            client.expect(250, 250, 250, 354, 250, 250)
            client.expect_end()

    async with open_door(store=store) as running:
        answer = deferToThread(dialogue, running.address)
        await store.asked()
        await turn()
        store.catch_up()
        await answer


def test_a_client_that_shuts_its_side_while_its_message_is_stored_hears_of_it():
    visit = Visit()
    visit.store.slow = True
    visit.open_message()
    visit.say(b"x\r\n.\r\n")
    visit.session.readConnectionLost()
    assert (visit.wire.codes(), visit.wire.ended) == ([], "")
    visit.store.catch_up()
    assert (visit.wire.codes(), visit.wire.ended) == ([b"250"], "closed")


@with_timeout()
async def test_quit_in_the_middle_of_a_transaction_keeps_nothing():
    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.send(b"EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<b@here.example>\r\nQUIT\r\nDATA\r\nx\r\n.\r\n")
            client.expect(250, 250, 250, 221)
            client.expect_end()

    async with open_door() as running:
        await deferToThread(dialogue, running.address)
    assert running.store.arrivals == []


# Twisted looks for a NUL at the front of the path, as bytes and as text.
@pytest.mark.filterwarnings("ignore:Comparison between bytes and string:BytesWarning")
@with_timeout()
async def test_a_client_of_a_local_socket_is_known_by_its_login(tmp_path: Path):
    path = tmp_path / "smtp"

    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message(recipient=b"b@there.example")
            client.send(b"x\r\n.\r\n")
            client.expect(250)

    async with open_door(listen=(f"unix:{path}:mode=600",)) as running:
        assert running.address == str(path)
        await deferToThread(dialogue, running.address)
    (arrival,) = running.store.arrivals
    assert (arrival.peer, arrival.auth_login, arrival.state) == (None, tmp_path.owner(), {"local_origin": True})


@with_timeout()
async def test_while_the_store_is_away_mail_is_told_to_come_again_and_the_session_goes_on():
    store = MemoryStore()
    store.away = True

    def dialogue(address: str) -> None:
        with Client(address) as client:
            client.open_message()
            client.send(b"x\r\n.\r\n")
            assert client.expect(451).startswith("4.3.0")
            store.away = False
            client.open_message()
            client.send(b"x\r\n.\r\n")
            client.expect(250)

    async with open_door(store=store) as running:
        await deferToThread(dialogue, running.address)
        assert running.door.house.budget.room == running.door.options.message_room
    assert len(store.arrivals) == 1
