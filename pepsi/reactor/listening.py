"""Where a service listens: Twisted's endpoints, and unix: sockets that outlive no one and belong to whoever made them.

Twisted keeps a unix: socket by a link to a process id. After a kill, an id that was given to somebody else keeps the
door shut, and a socket without the link does, too. Here the socket itself is asked whether somebody listens to it.
"""

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.internet import tcp, unix
from twisted.internet.address import UNIXAddress
from twisted.internet.endpoints import serverFromString
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IStreamServerEndpoint
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from pepsi.errors import ConfigError
from pepsi.model.text import one_line


def endpoint(reactor: Any, string: str, key: str) -> IStreamServerEndpoint:
    """Return the endpoint that *string* describes. Raises ConfigError, which names *key*, if it describes none."""
    used = _UnixReactor(reactor) if string.startswith("unix:") else reactor
    try:
        made: IStreamServerEndpoint = serverFromString(used, string)  # type: ignore[no-untyped-call]
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise ConfigError(
            f"{key} {string}: no such endpoint; expected tcp:25, tcp6:25, unix:/path and the like "
            f"({one_line(str(error))})"
        ) from error
    return made


def shown(address: Any) -> str:
    """Return a listener's address as people write it."""
    if isinstance(address, UNIXAddress):
        name = address.name
        return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{address.port}"


class _UnixReactor:
    """What an endpoint for unix: asks a reactor for."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    def listenUNIX(
        self, address: str, factory: Factory, backlog: int = 50, mode: int = 0o666, wantPID: int = 0
    ) -> IListeningPort:
        """Listen at the path *address*, without a lock file whatever *wantPID* says. Raises CannotListenError."""
        try:
            remove_stale(address)
        except OSError as error:
            raise CannotListenError(None, address, error) from error  # type: ignore[no-untyped-call]
        port = UnixPort(os.fsencode(address), factory, backlog, mode, self._reactor)
        port.startListening()
        return port


def remove_stale(path: str) -> None:
    """Remove the socket at *path* if nobody listens to it. Raises OSError if somebody does, or if it is no socket.

    Two that start at the same instant may each remove what the other has just made; one of them is then deaf.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise FileExistsError(errno.EEXIST, "there is a file, and it is no socket", path)
    with socket.socket(socket.AF_UNIX) as probe:
        # A listener with a long queue would have us wait.
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink()
            return
        except BlockingIOError:
            pass
    raise OSError(errno.EADDRINUSE, "another process listens there", path)


class UnixPort(unix.Port):
    """A listener that removes its own socket at the end: not one that another has put there, and none that is gone."""

    transport: Any
    _made: tuple[int, int] | None = None

    def startListening(self) -> None:
        super().startListening()  # type: ignore[no-untyped-call]
        self._made = self._there()

    def connectionLost(self, reason: Failure) -> None:
        with contextlib.suppress(OSError):
            if self._made is not None and self._there() == self._made:
                Path(os.fsdecode(self._bindPath)).unlink()
        # Past the one of unix.Port, which removes whatever is there and skips all else if nothing is.
        end: Callable[[Any, Failure], None] = tcp.Port.connectionLost
        end(self, reason)

    def _there(self) -> tuple[int, int]:
        found = os.lstat(self._bindPath)
        return found.st_dev, found.st_ino
