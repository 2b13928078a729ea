"""How much and how many: sessions, memory, sizes; and what happens when the door is closed."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from twisted.internet import reactor
from twisted.internet.threads import deferToThread

from pepsi.errors import ConfigError
from pepsi.ingress.service import DoorService
from tests.support_reactor import with_timeout
from tests.support_smtp import Client, Visit, make_door, open_door


@with_timeout()
async def test_surplus_sessions_are_told_to_come_again_and_the_others_go_on():
    def dialogue(address: str) -> None:
        with Client(address) as first, Client(address) as second:
            with Client(address, greeted=False) as third:
                third.expect(421)
                third.expect_end()
            first.say(b"QUIT", 221)
            first.expect_end()
            second.say(b"NOOP", 250)

    def again(address: str) -> None:
        with Client(address) as client:
            client.say(b"NOOP", 250)

    for limit in ({"max_sessions": 2}, {"max_sessions_per_peer": 2}):
        async with open_door(**limit) as running:
            await deferToThread(dialogue, running.address)
            await running.door.sessions.emptied()
            await deferToThread(again, running.address)


def test_mail_beyond_the_memory_is_told_to_come_again_at_mail_at_data_or_at_its_end():
    first = Visit(max_memory=700_000, max_message_size=100_000)
    second = Visit(door=first.door)
    first.open_message()
    second.open_message()
    assert first.say(b"x" * 60_000) == []
    assert second.say(b"y" * 60_000 + b"\r\n.\r\n") == [b"452"]
    assert second.say(b"MAIL FROM:<> SIZE=50000\r\n") == [b"452"]
    assert second.say(b"MAIL FROM:<> SIZE=100001\r\n") == [b"552"]
    assert second.say(b"MAIL FROM:<>\r\nRCPT TO:<b@here.example>\r\n") == [b"250", b"250"]
    assert first.say(b"x" * 40_000) == []
    assert second.say(b"DATA\r\n") == [b"452"]
    first.session.connectionLost()
    assert second.say(b"DATA\r\n") == [b"354"]
    assert second.say(b"y" * 60_000 + b"\r\n.\r\n") == [b"250"]
    assert first.door.house.budget.room == 100_000


@with_timeout()
async def test_a_stop_lets_a_message_come_to_its_end_and_says_goodbye_to_the_others():
    async with open_door() as running:
        with Client(running.address, greeted=False) as sending, Client(running.address, greeted=False) as idle:
            await deferToThread(sending.expect, 220)
            await deferToThread(idle.expect, 220)
            await deferToThread(sending.open_message)
            address = running.address
            stopped = running.service.stopService()
            await deferToThread(idle.expect, 421)
            await deferToThread(idle.expect_end)
            with pytest.raises(ConnectionRefusedError):
                await deferToThread(Client, address)
            sending.send(b"x\r\n.\r\n")
            await deferToThread(sending.expect, 250, 421)
            await deferToThread(sending.expect_end)
        await stopped
        assert len(running.store.arrivals) == 1


@with_timeout()
async def test_a_stop_cuts_off_who_does_not_come_to_an_end():
    async with open_door(shutdown_timeout=0.05) as running:
        with Client(running.address, greeted=False) as client:
            await deferToThread(client.expect, 220)
            await deferToThread(client.open_message)
            await running.service.stopService()
            await deferToThread(client.expect_end)
        assert len(running.door.sessions) == 0


@with_timeout()
async def test_a_door_that_cannot_be_opened_says_where_and_why():
    taken = socket.create_server(("127.0.0.1", 0))
    with taken:
        string = f"tcp:{taken.getsockname()[1]}:interface=127.0.0.1"
        failures: list[str] = []
        service = DoorService(reactor, make_door(), [string], failures.append)
        service.privilegedStartService()
        assert failures[0].startswith(f"cannot listen on {string}: ")
        assert "in use" in failures[0]
        await service.stopService()


@pytest.mark.parametrize("string", ["tcp", "nonsense:1", "tcp:port", "tcp:25:what=1", "ssl:465:privateKey=/no"])
def test_a_listener_that_is_none_is_told_before_the_start(string: str):
    with pytest.raises(ConfigError, match=r"LISTEN"):
        DoorService(reactor, make_door(), [string], lambda reason: None)


SCRIPT = """
import resource, sys
from twisted.internet import reactor
from pepsi.ingress.service import DoorService
from tests.support_smtp import make_door
service = DoorService(reactor, make_door(), ["tcp:0:interface=127.0.0.1"], sys.exit)
service.privilegedStartService()
service.startService()
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
print(service.addresses[0], flush=True)
reactor.run()
"""


def test_without_descriptors_the_sessions_that_are_open_go_on_and_new_ones_come_when_there_are_some_again():
    root = Path(__file__).parents[3]
    environ = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        first = Client(address)
        others = [Client(address, greeted=False) for _ in range(40)]
        first.say(b"NOOP", 250)
        for other in others:
            other.socket.close()
        first.open_message()
        first.send(b"x\r\n.\r\n")
        first.expect(250)
        first.say(b"QUIT", 221)
        while True:
            with Client(address, greeted=False) as again:
                code, _ = again.reply()
                if code == 220:
                    again.say(b"QUIT", 221)
                    break
        first.socket.close()
        process.terminate()
        process.wait(20)
