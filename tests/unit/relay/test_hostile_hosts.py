"""Hosts that mean harm or are out of their mind: the client's memory and time stay bounded, and nobody is lost."""

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pepsi.relay.answers import Verdict
from pepsi.relay.client import Client
from pepsi.relay.host import Timeouts
from pepsi.relay.letter import Letter
from tests.unit.relay.sink import Dialogue, Line, Sink, sink

Sinks = Callable[..., Sink]
Clients = Callable[..., Client]

SHORT = Timeouts(connect=5.0, command=0.2, block=0.2, final=0.2)

LETTER = Letter(sender="a@x", recipients=("b@x", "c@x"), data=b"x\r\n")


class Saying(Sink):
    """Greets, and from then on says only *words*, in pieces, waiting for nothing."""

    words: Callable[[], "itertools.chain[bytes]"]

    def converse(self, connected: socket.socket, dialogue: Dialogue) -> None:
        for piece in self.words():
            connected.sendall(piece)
        while connected.recv(65536):
            pass


def says(*pieces: bytes, for_ever: bytes = b"") -> type[Saying]:
    """Return a host that says *pieces*, and then *for_ever* again and again."""

    class Host(Saying):
        def words(self) -> "itertools.chain[bytes]":  # type: ignore[override]
            return itertools.chain(pieces, itertools.repeat(for_ever) if for_ever else ())

    return Host


@pytest.mark.parametrize(
    "kind",
    [
        says(),  # never says anything
        says(b"220"),
        says(b"220-wait\r\n", for_ever=b"220-wait\r\n"),
        says(b"220 ", for_ever=b"x" * 8192),
        says(for_ever=b"\0" * 8192),
        says(b"HTTP/1.1 200 OK\r\n\r\n"),
        says(b"220 hello\r\n250 hello\r\n250 ok\r\n250 ok\r\n250 ok\r\n354 go on\r\n250 taken\r\n"),
        says(for_ever=b"250 ok\r\n"),
    ],
    ids=["silent", "half a greeting", "endless lines", "endless line", "zeros", "http", "all replies at once", "yes"],
)
def test_a_host_that_does_not_speak_the_protocol_means_another_try(sinks: Sinks, clients: Clients, kind: type[Sink]):
    answers = clients(sinks(kind), timeouts=SHORT).send(LETTER, 30.0)
    assert [answers[name].verdict for name in LETTER.recipients] == [Verdict.RETRY] * 2


@pytest.mark.parametrize("where", ["EHLO", "MAIL", "RCPT", "DATA", "."])
def test_the_time_for_a_reply_is_limited_as_a_whole_and_not_from_byte_to_byte(
    sinks: Sinks, clients: Clients, where: str
):
    class Dripping(Sink):
        def converse(self, connected: socket.socket, dialogue: Dialogue) -> None:
            def answer(line: Line, dialogue: Dialogue) -> bytes | None:
                if (line if line == "." else line.verb) == where:
                    pause = threading.Event()
                    while not pause.wait(0.02):
                        connected.sendall(b"2")
                return None

            self.answer = answer
            super().converse(connected, dialogue)

    answers = clients(sinks(Dripping), timeouts=SHORT).send(LETTER, 30.0)
    assert {answer.verdict for answer in answers.values()} == {Verdict.RETRY}


def test_the_time_for_a_message_is_limited_whatever_each_step_may_take(sinks: Sinks, clients: Clients):
    answers = clients(sinks(says(b"220 hello\r\n"))).send(LETTER, 5.2)
    assert "no time was left" in answers["b@x"].reason


def test_a_host_that_stops_reading_is_left(sinks: Sinks, clients: Clients):
    class Deaf(Sink):
        def converse(self, connected: socket.socket, dialogue: Dialogue) -> None:
            def answer(line: Line, dialogue: Dialogue) -> bytes | None:
                if line.verb == "DATA":
                    connected.sendall(b"354 go on\r\n")
                    gone.acquire()
                return None

            self.answer = answer
            with contextlib.suppress(OSError):
                super().converse(connected, dialogue)

    gone = threading.Semaphore(0)
    client = clients(sinks(Deaf), timeouts=SHORT)
    big = Letter(sender="a@x", recipients=("b@x",), data=b"x" * 32_000_000 + b"\r\n")
    answer = client.send(big, 30.0)["b@x"]
    gone.release()
    assert answer.verdict is Verdict.RETRY
    assert "stopped reading" in answer.reason


def test_a_host_that_cuts_a_message_short_with_a_refusal_is_heard(sinks: Sinks, clients: Clients):
    class Choosy(Sink):
        def converse(self, connected: socket.socket, dialogue: Dialogue) -> None:
            def answer(line: Line, dialogue: Dialogue) -> bytes | None:
                if line.verb == "DATA":
                    connected.sendall(b"354 go on\r\n")
                    connected.recv(1000)
                    connected.sendall(b"552 5.3.4 too big\r\n")
                    connected.shutdown(socket.SHUT_WR)
                    gone.acquire()
                return None

            self.answer = answer
            super().converse(connected, dialogue)

    gone = threading.Semaphore(0)
    client = clients(sinks(Choosy), timeouts=SHORT)
    big = Letter(sender="a@x", recipients=("b@x",), data=b"x" * 32_000_000 + b"\r\n")
    answer = client.send(big, 30.0)["b@x"]
    gone.release()
    assert (answer.verdict, answer.status) == (Verdict.REFUSED, "5.3.4")


REPLIES = st.sampled_from(
    [None] * 6
    + [
        b"250 ok\r\n",
        b"354 go on\r\n",
        b"450 4.2.0 later\r\n",
        b"452 4.5.3 too many\r\n",
        b"550 5.1.1 who?\r\n",
        b"421 4.3.2 bye\r\n",
        b"250-a\r\n250 b\r\n",
        b"250 ok\r\n250 ok\r\n",
        b"garbage\r\n",
        b"",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(replies=st.lists(REPLIES, max_size=25), pipelining=st.booleans(), count=st.integers(1, 6))
def test_whatever_a_host_answers_each_recipient_has_one_answer_and_delivered_means_delivered(
    clients: Clients, replies: list[bytes | None], pipelining: bool, count: int
):
    script = iter(replies)
    recipients = tuple(f"r{number}@x" for number in range(count))

    def answer(line: Line, dialogue: Dialogue) -> bytes | None:
        reply = None if line.verb in ("EHLO", "QUIT") else next(script, None)
        if reply and reply.startswith(b"25"):
            if line.verb == "MAIL":
                dialogue.sender = "somebody"
            elif line.verb == "RCPT":
                dialogue.recipients.append(line[len("RCPT TO:") :])
        return reply

    with sink(Sink(extensions=("PIPELINING",) if pipelining else (), answer=answer)) as host:
        client = clients(host, timeouts=SHORT)
        sent = [client.send(Letter(sender="a@x", recipients=recipients, data=b"x\r\n"), 5.0) for _ in range(2)]
        client.close()
    for answers in sent:
        assert answers.keys() == set(recipients)
    for name in recipients:
        said = sum(answers[name].verdict is Verdict.DELIVERED for answers in sent)
        heard = sum(message.recipients.count(f"<{name}>") for message in host.heard)
        assert said <= heard <= 2
