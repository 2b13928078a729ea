"""A TCP proxy before PostgreSQL that does what networks do: cuts, delays, and swallows without a word.

``with Proxy(dsn) as proxy:`` runs it in a thread; ``proxy.dsn`` leads through it. As a process of its own,
``python -m tests.support_proxy DSN`` writes its libpq string on the first line, takes the methods of ``Proxy`` as
commands one a line ("cut pepsi-dispatch*", "blackhole * lasting", "delay 0.2 *", "refuse", "heal"), and answers each
with a line: how many connections it hit, or "error" and why. It ends with its standard input.

Connections are picked by a pattern of fnmatch for the application_name that they gave at their start.
"""

import asyncio
import fnmatch
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from psycopg2.extensions import make_dsn, parse_dsn

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
T = TypeVar("T")
_CHUNK = 65536
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of a socket whose close sends RST."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """What is to happen to the connections of *pattern*."""

    pattern: str
    silent: bool = False
    delay: float = 0.0


@dataclass(eq=False, slots=True)
class _Pair:
    """One connection through the proxy: the client's end and the server's."""

    client: socket.socket
    server: socket.socket | None = None
    name: str = ""
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    """Clear while it is a black hole."""
    delay: float = 0.0
    task: "asyncio.Task[None] | None" = None

    def obey(self, rule: _Rule) -> None:
        if rule.silent:
            self.flowing.clear()
        self.delay = rule.delay

    def reset(self) -> None:
        for end in (self.client, self.server):
            if end is not None and end.family != socket.AF_UNIX:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if self.task is not None:
            self.task.cancel()


class Proxy:
    """A proxy on a free port of 127.0.0.1 to the server of *upstream*, a libpq string."""

    def __init__(self, upstream: str) -> None:
        given = parse_dsn(upstream)
        self._host, self._port = given.get("host", "localhost"), int(given.get("port", 5432))
        self._pairs: set[_Pair] = set()
        self._rules: list[_Rule] = []
        self._refusing = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        self._door = socket.create_server(("127.0.0.1", 0))
        self._door.setblocking(False)
        self._doorman: asyncio.Task[None] | None = None
        port = self._door.getsockname()[1]
        self.dsn = make_dsn(upstream, host="127.0.0.1", port=port, sslmode="disable", gssencmode="disable")

    def __enter__(self) -> "Proxy":
        self._thread.start()
        self._doorman = self._do(lambda: self._loop.create_task(self._open_door()))
        return self

    def __exit__(self, *exception: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._door.close()

    def names(self) -> list[str]:
        """The application names of the connections that there are."""
        return self._do(lambda: sorted(pair.name for pair in self._pairs if pair.server is not None))

    def cut(self, pattern: str = "*") -> int:
        """Break connections with RST to both sides; return how many."""
        return self._do(lambda: sum(pair.reset() is None for pair in self._matching(pattern)))

    def blackhole(self, pattern: str = "*", *, lasting: bool = False) -> int:
        """Pass nothing on any more, in either direction, not even an end; *lasting*: of connections to come, too."""
        return self._do(lambda: self._apply(_Rule(pattern, silent=True), lasting))

    def delay(self, seconds: float, pattern: str = "*", *, lasting: bool = False) -> int:
        """Pass everything on so many *seconds* later; *lasting*: on connections to come, too."""
        return self._do(lambda: self._apply(_Rule(pattern, delay=seconds), lasting))

    def refuse(self) -> int:
        """Break every connection to come at once."""

        def begin() -> int:
            self._refusing = True
            return 0

        return self._do(begin)

    def heal(self) -> int:
        """Undo all this. What a black hole held back goes on its way, as after any other loss of packets."""

        def undo() -> int:
            self._refusing = False
            self._rules.clear()
            for pair in self._pairs:
                pair.delay = 0.0
                pair.flowing.set()
            return len(self._pairs)

        return self._do(undo)

    def _do(self, work: Callable[[], T]) -> T:
        """Do *work* in the proxy's own thread, where all that follows runs."""

        async def run() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _matching(self, pattern: str) -> Iterator[_Pair]:
        return (pair for pair in list(self._pairs) if fnmatch.fnmatchcase(pair.name, pattern))

    def _apply(self, rule: _Rule, lasting: bool) -> int:
        if lasting:
            self._rules.append(rule)
        hit = list(self._matching(rule.pattern))
        for pair in hit:
            pair.obey(rule)
        return len(hit)

    async def _open_door(self) -> None:
        while True:
            client, _ = await self._loop.sock_accept(self._door)
            pair = _Pair(client)
            pair.flowing.set()
            if self._refusing:
                pair.reset()
                client.close()
                continue
            self._pairs.add(pair)
            pair.task = self._loop.create_task(self._serve(pair))

    async def _end(self) -> None:
        tasks = [pair.task for pair in self._pairs if pair.task is not None]
        if self._doorman is not None:
            tasks.append(self._doorman)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, pair: _Pair) -> None:
        try:
            start, pair.name = await self._start_of(pair.client)
            for rule in self._rules:
                if fnmatch.fnmatchcase(pair.name, rule.pattern):
                    pair.obey(rule)
            await pair.flowing.wait()
            pair.server = await self._connected()
            await self._loop.sock_sendall(pair.server, start)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(pair, pair.client, pair.server))
                group.create_task(self._pump(pair, pair.server, pair.client))
        except* (OSError, EOFError):
            pass  # broken by one side, which is broken for the other
        finally:
            self._pairs.discard(pair)
            for end in (pair.client, pair.server):
                if end is not None:
                    end.close()

    async def _pump(self, pair: _Pair, source: socket.socket, sink: socket.socket) -> None:
        data = b"?"
        while data:
            data = await self._loop.sock_recv(source, _CHUNK)
            await pair.flowing.wait()
            await asyncio.sleep(pair.delay)
            if data:
                await self._loop.sock_sendall(sink, data)
        sink.shutdown(socket.SHUT_WR)

    async def _start_of(self, client: socket.socket) -> tuple[bytes, str]:
        """Return the first packet that goes on to the server, and the application_name in it."""
        while True:
            head = await self._exactly(client, 8)
            length, code = struct.unpack("!ii", head)
            body = await self._exactly(client, length - 8)
            if code not in (SSL_REQUEST, GSS_REQUEST):
                break
            await self._loop.sock_sendall(client, b"N")
        if code == CANCEL_REQUEST:
            return head + body, "cancel"
        words = body.split(b"\0")
        given = dict(zip(words[::2], words[1::2], strict=False))
        return head + body, given.get(b"application_name", b"").decode(errors="replace")

    async def _exactly(self, client: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = await self._loop.sock_recv(client, count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    async def _connected(self) -> socket.socket:
        if self._host.startswith("/"):
            return await self._connect(socket.socket(socket.AF_UNIX), f"{self._host}/.s.PGSQL.{self._port}")
        ((family, kind, protocol, _, address), *_) = await self._loop.getaddrinfo(
            self._host, self._port, type=socket.SOCK_STREAM
        )
        return await self._connect(socket.socket(family, kind, protocol), address)

    async def _connect(self, made: socket.socket, address: Any) -> socket.socket:
        made.setblocking(False)
        try:
            await self._loop.sock_connect(made, address)
        except BaseException:
            made.close()
            raise
        return made


def obey(proxy: Proxy, line: str) -> int:
    """Carry out one command; return how many connections it hit. Raises ValueError."""
    match line.split():
        case ["cut", pattern]:
            return proxy.cut(pattern)
        case ["blackhole", pattern, *words] if words in ([], ["lasting"]):
            return proxy.blackhole(pattern, lasting=bool(words))
        case ["delay", seconds, pattern, *words] if words in ([], ["lasting"]):
            return proxy.delay(float(seconds), pattern, lasting=bool(words))
        case ["refuse"]:
            return proxy.refuse()
        case ["heal"]:
            return proxy.heal()
        case _:
            raise ValueError(f"unknown command {line!r}")


def main(upstream: str) -> None:
    with Proxy(upstream) as proxy:
        print(proxy.dsn, flush=True)
        for line in sys.stdin:
            try:
                print(obey(proxy, line), flush=True)
            except ValueError as error:
                print("error", error, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
