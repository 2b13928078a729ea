"""Who is at the other end of a connection: an address, or on a local socket the login that the kernel names."""

import ipaddress
import pwd
import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from twisted.internet.address import UNIXAddress
from twisted.internet.interfaces import ITransport

_CREDENTIALS = struct.Struct("3i")
_SITE_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A client. Of *address* and *login* one is None."""

    address: IPv4Address | IPv6Address | None = None
    login: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether it came by a local socket."""
        return self.address is None

    @property
    def key(self) -> str:
        """What counts as one client: one site has all of an IPv6 network of 64 bits."""
        if isinstance(self.address, IPv6Address):
            return str(ipaddress.ip_network((int(self.address), _SITE_BITS), strict=False))
        return str(self)

    @property
    def origin(self) -> str:
        """How a Received field names it."""
        match self.address:
            case None:
                return f"local user {self.login}"
            case IPv6Address():
                return f"[IPv6:{self.address}]"
            case _:
                return f"[{self.address}]"

    def __str__(self) -> str:
        return f"user {self.login}" if self.address is None else str(self.address)


def peer_of(transport: ITransport) -> Peer:
    """Return the client that *transport* leads to."""
    other = transport.getPeer()
    if isinstance(other, UNIXAddress):
        handle: socket.socket = transport.getHandle()  # type: ignore[attr-defined]
        return Peer(login=login_of(handle))
    return Peer(address=plain_address(other.host))  # type: ignore[attr-defined]


def login_of(handle: socket.socket) -> str:
    """Return the login of the process that connected *handle*, by the kernel's word (unix(7), SO_PEERCRED)."""
    _, uid, _ = _CREDENTIALS.unpack(handle.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid-{uid}"


def plain_address(host: str) -> IPv4Address | IPv6Address:
    """Return *host* without a scope, and as IPv4 if it is an IPv4 address in the clothes of an IPv6 one."""
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address
