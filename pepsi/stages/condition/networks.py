"""Whether an address is inside a network: what ``peer in [...]`` asks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pepsi.model.message import Message

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network


@dataclass(frozen=True, slots=True)
class PeerWithin:
    """The peer's address is in one of *networks*."""

    networks: tuple["IPv4Network | IPv6Network", ...]

    def holds(self, message: Message) -> bool:
        """Whether it is so for *message*. A message made here has no peer, and is in no network."""
        import ipaddress  # loaded already, by networks() below

        try:
            address = ipaddress.ip_address((message.peer or "").partition("/")[0])
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self.networks)


def networks(texts: Sequence[str]) -> tuple["IPv4Network | IPv6Network", ...]:
    """Read *texts* such as ``192.0.2.0/24``, ``2001:db8::/32`` or a single address. Raises ValueError."""
    import ipaddress  # few conditions ask for it, and every start of a worker would pay for it

    return tuple(ipaddress.ip_network(text) for text in texts)
