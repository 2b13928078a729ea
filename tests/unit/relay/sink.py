"""An SMTP host on a real socket that answers as a test tells it, and remembers all it heard."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

PATIENCE = 20.0
"""Seconds after which a sink gives up on a client: only ever reached by a test that is about to fail."""

CLOSE = b""
"""The answer that closes the connection without a word."""


class Line(str):
    """A command as the sink heard it, without its line end."""

    @property
    def verb(self) -> str:
        return self.partition(" ")[0].upper()


@dataclass
class Heard:
    """A message that was sent to its end: *data* with the stuffing taken out again."""

    sender: str
    recipients: list[str]
    data: bytes


@dataclass
class Dialogue:
    """One connection: its number from 1, and what was said on it."""

    number: int
    lines: list[Line] = field(default_factory=list)
    encrypted: bool = False
    sender: str = ""
    recipients: list[str] = field(default_factory=list)


Answer = Callable[[Line, Dialogue], bytes | None]


class Sink:
    """A host. *answer* is asked first what to say to a line ("." is the end of a message); None: what is usual.

    The client's bytes are read strictly: only CRLF ends a line, only CRLF.CRLF ends a message.
    """

    def __init__(
        self,
        *,
        extensions: tuple[str, ...] = ("PIPELINING", "8BITMIME"),
        answer: Answer = lambda line, dialogue: None,
        greeting: bytes = b"220 sink ESMTP\r\n",
        tls: ssl.SSLContext | None = None,
        implicit: bool = False,
        recipients_limit: int | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.extensions = extensions
        self.answer = answer
        self.greeting = greeting
        self.tls = tls
        self.implicit = implicit
        self.recipients_limit = recipients_limit
        self.heard: list[Heard] = []
        self.dialogues: list[Dialogue] = []
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server((address, 0))
        self.port: int = self._listening.getsockname()[1]
        self._start(self._accept)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connected in self._sockets:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
            connected.close()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def say(self, data: bytes) -> None:
        """Say something on the last connection, without being asked."""
        self._sockets[-1].sendall(data)

    @property
    def lines(self) -> list[Line]:
        """All lines of all connections."""
        return [line for dialogue in self.dialogues for line in dialogue.lines]

    def _start(self, run: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:
                return
            connected.settimeout(PATIENCE)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets.append(connected)
            dialogue = Dialogue(number=len(self.dialogues) + 1)
            self.dialogues.append(dialogue)
            self._start(self._serve, connected, dialogue)

    def _serve(self, connected: socket.socket, dialogue: Dialogue) -> None:
        with contextlib.suppress(OSError, EOFError):
            try:
                self.converse(connected, dialogue)
            finally:
                connected.close()

    def converse(self, connected: socket.socket, dialogue: Dialogue) -> None:
        """Hold one dialogue. A test with something nastier in mind overrides this."""
        if self.implicit:
            connected = self._encrypted(connected, dialogue)
        connected.sendall(self.greeting)
        reader = Reader(connected)
        while True:
            line = Line(reader.line().decode())
            dialogue.lines.append(line)
            reply = self.answer(line, dialogue)
            if reply is None:
                reply = self.usual(line, dialogue)
            if reply == CLOSE:
                return
            connected.sendall(reply)
            if line.verb == "QUIT":
                return
            if line.verb == "STARTTLS" and reply.startswith(b"220"):
                connected = self._encrypted(connected, dialogue)
                reader = Reader(connected)
            if line.verb == "DATA" and reply.startswith(b"354"):
                data = reader.message()
                asked = self.answer(Line("."), dialogue)
                reply = b"250 2.0.0 taken\r\n" if asked is None else asked
                if reply == CLOSE:
                    return
                if reply.startswith(b"2"):
                    self.heard.append(Heard(dialogue.sender, list(dialogue.recipients), data))
                dialogue.sender, dialogue.recipients = "", []
                connected.sendall(reply)

    def usual(self, line: Line, dialogue: Dialogue) -> bytes:
        match line.verb:
            case "EHLO":
                words = ["sink", *self.extensions]
                if self.tls and not dialogue.encrypted:
                    words.append("STARTTLS")
                *more, last = words
                return b"".join(f"250-{word}\r\n".encode() for word in more) + f"250 {last}\r\n".encode()
            case "MAIL":
                if dialogue.sender:
                    return b"503 5.5.1 nested MAIL\r\n"
                dialogue.sender = line[len("MAIL FROM:") :]
                return b"250 2.1.0 ok\r\n"
            case "RCPT":
                if not dialogue.sender:
                    return b"503 5.5.1 MAIL first\r\n"
                limit = self.recipients_limit
                if limit is not None and len(dialogue.recipients) >= limit:
                    return b"452 4.5.3 too many recipients\r\n"
                dialogue.recipients.append(line[len("RCPT TO:") :])
                return b"250 2.1.5 ok\r\n"
            case "DATA":
                return b"354 go on\r\n" if dialogue.recipients else b"554 5.5.1 no valid recipients\r\n"
            case "RSET":
                dialogue.sender, dialogue.recipients = "", []
                return b"250 2.0.0 ok\r\n"
            case "STARTTLS":
                return b"220 2.0.0 go on\r\n" if self.tls else b"502 5.5.1 no\r\n"
            case "HELO":
                return b"250 sink\r\n"
            case "QUIT":
                return b"221 2.0.0 bye\r\n"
        return b"500 5.5.2 what?\r\n"

    def _encrypted(self, connected: socket.socket, dialogue: Dialogue) -> socket.socket:
        assert self.tls is not None
        encrypted = self.tls.wrap_socket(connected, server_side=True)
        self._sockets.append(encrypted)
        dialogue.encrypted = True
        return encrypted


class Reader:
    """Reads lines and messages the strict way."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._buffer = b""

    def line(self) -> bytes:
        return self._until(b"\r\n")

    def message(self) -> bytes:
        if self._buffer.startswith(b".\r\n") or self._peek(3) == b".\r\n":
            self._buffer = self._buffer[3:]
            return b""
        data = self._until(b"\r\n.\r\n") + b"\r\n"
        assert b"\n" not in data.replace(b"\r\n", b""), "a bare LF was sent"
        assert b"\r" not in data.replace(b"\r\n", b""), "a bare CR was sent"
        return (b"\r\n" + data).replace(b"\r\n.", b"\r\n")[2:]

    def _peek(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._more()
        return self._buffer[:size]

    def _until(self, end: bytes) -> bytes:
        while end not in self._buffer:
            self._more()
        found, _, self._buffer = self._buffer.partition(end)
        return found

    def _more(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise EOFError
        self._buffer += data


@contextlib.contextmanager
def sink(made: Sink) -> Iterator[Sink]:
    """Close the sink at the end of the block."""
    try:
        yield made
    finally:
        made.close()
