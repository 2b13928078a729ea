"""What a service tells the manager that started it: datagrams to the socket that it named, as sd_notify does."""

import contextlib
import socket
from collections.abc import Mapping


class Manager:
    """The service manager, found in *environ*. Where there is none, whatever it is told is told to nobody.

    *pid* is our process id: the manager may name the one process that is to feed its watchdog.
    """

    def __init__(self, environ: Mapping[str, str], pid: int) -> None:
        path = environ.get("NOTIFY_SOCKET", "")
        # An @ stands for the NUL byte of Linux' abstract sockets. What begins otherwise is no path that we can send to.
        self._address = f"\0{path[1:]}" if path.startswith("@") else path if path.startswith("/") else ""
        self.watchdog = _watchdog(environ, pid) if self._address else None
        """Seconds of silence after which the manager restarts us; None if it does not watch."""

    @property
    def present(self) -> bool:
        """Whether somebody is told at all."""
        return bool(self._address)

    def tell(self, **facts: object) -> None:
        """Send *facts*, such as ``READY=1``. What cannot be sent at once is lost: a service is not to wait for it."""
        if not self._address:
            return
        text = "\n".join(f"{name}={value}" for name, value in facts.items())
        with (
            contextlib.suppress(OSError, ValueError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as sender,
        ):
            sender.sendto(text.encode(), self._address)


def _watchdog(environ: Mapping[str, str], pid: int) -> float | None:
    try:
        microseconds = int(environ.get("WATCHDOG_USEC", ""))
        ours = int(environ.get("WATCHDOG_PID") or pid) == pid
    except ValueError:
        return None
    return microseconds / 1e6 if ours and microseconds > 0 else None
