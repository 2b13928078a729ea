"""A pooler in transaction mode: each statement of a client runs in whatever session of the server is given out then.

Run as ``python -m tests.fake_pooler DSN rotate|stack COUNT``: it keeps COUNT sessions, and gives out the next one in
turn, or the one that came back last, as real poolers do. It writes its port on the first line. Only simple queries are
understood, which is all that the driver sends.
"""

import socket
import struct
import sys
import threading
from collections import deque

from psycopg2.extensions import parse_dsn

from tests.mute_server import message, welcome

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104


def exactly(peer: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = peer.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def read_message(peer: socket.socket) -> tuple[bytes, bytes]:
    head = exactly(peer, 5)
    return head[:1], exactly(peer, struct.unpack("!i", head[1:])[0] - 4)


def log_in(dsn: dict[str, str]) -> socket.socket:
    """Return a session with the server, which must trust us."""
    host, port = dsn["host"], dsn.get("port", "5432")
    if host.startswith("/"):
        made = socket.socket(socket.AF_UNIX)
        made.connect(f"{host}/.s.PGSQL.{port}")
    else:
        made = socket.create_connection((host, int(port)))
    words = ("user", dsn["user"], "database", dsn["dbname"], "")
    body = struct.pack("!i", 3 << 16) + b"".join(word.encode() + b"\0" for word in words)
    made.sendall(struct.pack("!i", len(body) + 4) + body)
    while read_message(made)[0] != b"Z":
        pass
    return made


class Pool:
    """The sessions that nobody has just now."""

    def __init__(self, sessions: list[socket.socket], *, stack: bool) -> None:
        self._idle = deque(sessions)
        self._stack = stack
        self._changed = threading.Condition()

    def take(self) -> socket.socket:
        with self._changed:
            self._changed.wait_for(lambda: self._idle)
            return self._idle.pop() if self._stack else self._idle.popleft()

    def give_back(self, session: socket.socket) -> None:
        with self._changed:
            self._idle.append(session)
            self._changed.notify()


def serve(client: socket.socket, pool: Pool) -> None:
    while True:
        (length,) = struct.unpack("!i", exactly(client, 4))
        (code,) = struct.unpack("!i", exactly(client, length - 4)[:4])
        if code not in (SSL_REQUEST, GSS_REQUEST):
            break
        client.sendall(b"N")
    client.sendall(welcome())
    session = None
    while True:
        kind, body = read_message(client)
        if kind == b"X":
            return
        session = session or pool.take()
        session.sendall(message(kind, body))
        answer = b""
        while answer != b"Z":
            answer, body = read_message(session)
            client.sendall(message(answer, body))
        if body == b"I":
            pool.give_back(session)
            session = None


def served(client: socket.socket, pool: Pool) -> None:
    try:
        serve(client, pool)
    except (EOFError, OSError):
        pass
    finally:
        client.close()


def main(upstream: str, policy: str, count: str) -> None:
    dsn = parse_dsn(upstream)
    pool = Pool([log_in(dsn) for _ in range(int(count))], stack=policy == "stack")
    door = socket.create_server(("127.0.0.1", 0))
    print(door.getsockname()[1], flush=True)
    while True:
        client, _ = door.accept()
        threading.Thread(target=served, args=(client, pool), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
