"""A blocking connection on which every wait has an end: bytes out, replies in."""

import contextlib
import socket
import time
from collections.abc import Callable
from ipaddress import ip_address

from pepsi.relay.faults import LinkError, TlsError
from pepsi.relay.reader import ReplyReader
from pepsi.relay.replies import Reply

BLOCK = 64 * 1024
"""Bytes that are written, or read, at once."""

_AT_ONCE = 1e-6

Clock = Callable[[], float]
Wrap = Callable[[socket.socket], socket.socket]


class Channel:
    """One connection to a host.

    Each wait is limited twice: by the seconds given with the call, all reads of a reply counted together, and by
    *until*, a time of *clock*, for everything that is done on behalf of one message. Every error is a LinkError; after
    one the only thing left to do is ``close``.
    """

    def __init__(self, connected: socket.socket, *, until: float, clock: Clock = time.monotonic) -> None:
        self._socket = connected
        self._clock = clock
        self._reader = ReplyReader()
        self.until = until
        self.encrypted = False

    @property
    def is_loopback(self) -> bool:
        """Whether the other end is this machine."""
        try:
            return ip_address(self._socket.getpeername()[0].partition("%")[0]).is_loopback
        except (OSError, ValueError):
            return False

    @property
    def has_input(self) -> bool:
        """Whether the host has said something, or has gone, without being asked."""
        if not self._reader.is_empty:
            return True
        # Not a poll of the descriptor: under TLS it is readable for records that hold nothing for us.
        self._socket.settimeout(_AT_ONCE)
        try:
            self._reader.feed(self._socket.recv(BLOCK))
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def write(self, data: bytes, seconds: float) -> None:
        """Write all of *data*. *seconds* is how long the host may take nothing."""
        if not self._reader.is_empty:
            raise LinkError("the host answered before it was asked", status="4.5.0")
        view = memoryview(data)
        while view:
            deadline = self._clock() + seconds
            self._arm(deadline)
            try:
                sent = self._socket.send(view[:BLOCK])
            except TimeoutError:
                raise self._late(deadline, "the host stopped reading") from None
            except OSError as error:
                raise LinkError(f"the connection was lost: {_words(error)}") from error
            view = view[sent:]

    def reply(self, seconds: float) -> Reply:
        """Return the host's next reply; it must be complete within *seconds*."""
        deadline = self._clock() + seconds
        while (reply := self._reader.take()) is None:
            self._arm(deadline)
            try:
                data = self._socket.recv(BLOCK)
            except TimeoutError:
                raise self._late(deadline, "the host did not answer in time") from None
            except OSError as error:
                raise LinkError(f"the connection was lost: {_words(error)}") from error
            if not data:
                raise LinkError("the host closed the connection")
            self._reader.feed(data)
        return reply

    def encrypt(self, wrap: Wrap, seconds: float) -> None:
        """Put TLS on the connection. *wrap* makes the handshake. Raises TlsError if that fails."""
        if not self._reader.is_empty:
            # Whoever sits in between could have put replies there, to be taken for the host's own under TLS.
            raise TlsError("the host said more than it should before TLS began")
        self._arm(self._clock() + seconds)
        try:
            self._socket = wrap(self._socket)
        except OSError as error:
            raise TlsError(f"TLS failed: {_words(error)}") from error
        self.encrypted = True

    def allow(self, seconds: float) -> None:
        """Set *until* to *seconds* from now."""
        self.until = self._clock() + seconds

    def close(self) -> None:
        """Close the connection at once, whatever is going on in it."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _arm(self, deadline: float) -> None:
        left = min(deadline, self.until) - self._clock()
        if left <= 0:
            raise self._late(deadline, "the host did not answer in time")
        self._socket.settimeout(left)

    def _late(self, deadline: float, otherwise: str) -> LinkError:
        return LinkError("no time was left for this message" if self.until < deadline else otherwise)


def connect(host: str, port: int, *, seconds: float, until: float, clock: Clock = time.monotonic) -> Channel:
    """Return a channel to the first address of *host* that answers. Raises LinkError if none does."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # UnicodeError: a label that is empty or too long
        raise LinkError(f"cannot find the address of {host}: {_words(error)}", status="4.4.3") from error
    deadline = min(until, clock() + seconds)
    problem = "no time was left for this message"
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        # An address that swallows what is sent to it must leave time for the others.
        share = (deadline - clock()) / (len(addresses) - number)
        if share <= 0:
            break
        attempt = socket.socket(family, kind, protocol)
        attempt.settimeout(share)
        try:
            attempt.connect(address)
        except OSError as error:
            attempt.close()
            problem = f"{address[0]}: {_words(error)}"
            continue
        # The commands are short, and each waits for its reply: holding them back to fill a packet only costs time.
        attempt.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Channel(attempt, until=until, clock=clock)
    raise LinkError(f"cannot connect to {host} port {port}: {problem}", status="4.4.1")


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
