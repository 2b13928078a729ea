"""A server that lets everybody log in as PostgreSQL does, and then says no more: as a pooler that is paused.

Run as ``python mute_server.py``. It writes its port on the first line, and then a line for each login and each request
to cancel a statement. A process of its own: the driver holds the interpreter while it asks for a cancel.
"""

import socket
import struct

CANCEL = struct.pack("!i", 80877102)
SETTINGS = {
    "server_version": "15.0",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "integer_datetimes": "on",
}


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def welcome() -> bytes:
    settings = b"".join(message(b"S", f"{name}\0{value}\0".encode()) for name, value in SETTINGS.items())
    return (
        message(b"R", struct.pack("!i", 0)) + settings + message(b"K", struct.pack("!ii", 1, 2)) + message(b"Z", b"I")
    )


def main() -> None:
    door = socket.create_server(("127.0.0.1", 0))
    print(door.getsockname()[1], flush=True)
    guests = []
    while True:
        guest, _ = door.accept()
        if guest.recv(4096)[4:8] == CANCEL:
            print("cancel", flush=True)
            guest.close()
        else:
            guest.sendall(welcome())
            guests.append(guest)
            print("login", flush=True)


if __name__ == "__main__":
    main()
