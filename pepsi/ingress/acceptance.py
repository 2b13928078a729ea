"""Whether the door takes what it is offered, and what it says if not. Pure."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from pepsi.ingress import replies
from pepsi.ingress.addresses import Address
from pepsi.ingress.commands import Mail
from pepsi.ingress.replies import Reply

OVERSHOOT = 10
"""A transaction may try this many times its limit of recipients before the surplus counts as errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the operator allows. Domains are in lower case, sizes in bytes."""

    local_domains: frozenset[str]
    relay_networks: tuple[IPv4Network | IPv6Network, ...]
    max_message_size: int
    max_recipients: int
    max_hops: int
    max_errors: int

    def is_trusted(self, address: IPv4Address | IPv6Address | None) -> bool:
        """Whether a client at *address* may relay without a login. None is no network's address."""
        return address is not None and any(address in network for network in self.relay_networks)

    def refuse_sender(self, mail: Mail, room: int) -> Reply | None:
        """Return why *mail* cannot be taken, None if it can. *room* is how much may be in memory still."""
        if mail.size > self.max_message_size:
            return replies.TOO_LARGE
        return replies.NO_ROOM if mail.size > room else None

    def refuse_recipient(self, address: Address, taken: int, *, may_relay: bool) -> Reply | None:
        """Return why a further recipient beside *taken* ones cannot be taken, None if it can."""
        if not may_relay and address.domain.lower() not in self.local_domains:
            return replies.RELAYING_DENIED
        return replies.TOO_MANY_RECIPIENTS if taken >= self.max_recipients else None

    def refuse_hops(self, hops: int) -> Reply | None:
        """Return why a message that was handed on *hops* times cannot be taken, None if it can."""
        return replies.LOOP if hops > self.max_hops else None
