"""The keys of ``[pepsi-ingress]``, each declared once."""

import ipaddress
import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from pepsi.config.kind import Kind
from pepsi.config.option import Option, duration, endpoints, integer, path, secret, size, stage
from pepsi.config.options import LONGEST, SHORTEST
from pepsi.config.values import parse_host, render_words

Networks = tuple[IPv4Network | IPv6Network, ...]

STORING_COST = 6
"""Bytes that one byte of a message takes while it is stored, beside itself: 5.3 were measured."""

_LITERAL = re.compile(r"\[(?:[0-9.]+|IPv6:[0-9A-Fa-f:.]+)\]")


def parse_networks(text: str) -> Networks:
    """Return the networks of *text*, which white space separates. Raises ValueError with what was expected."""
    return tuple(_network(word) for word in text.split())


def render_networks(networks: Networks) -> str:
    """Return *networks* with a space between them."""
    return " ".join(str(network) for network in networks)


def parse_domains(text: str) -> tuple[str, ...]:
    """Return the domains of *text* in lower case; address literals are allowed. Raises ValueError."""
    return tuple((word if _LITERAL.fullmatch(word) else parse_host(word)).lower() for word in text.split())


def _network(word: str) -> IPv4Network | IPv6Network:
    try:
        return ipaddress.ip_network(word)
    except ValueError:
        raise ValueError(f"expected networks such as 192.0.2.0/24 or 2001:db8::/32, not {word}") from None


networks = Option(
    Kind(
        name="networks",
        syntax="Networks or single addresses with white space between them; none at all is allowed.",
        parse=parse_networks,
        render=render_networks,
    )
)
domains = Option(
    Kind(
        name="domains",
        syntax="Domains or address literals with white space between them; none at all is allowed.",
        parse=parse_domains,
        render=render_words,
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingress:
    """``[pepsi-ingress]``: the SMTP door."""

    listen: tuple[str, ...] = endpoints(
        "tcp:25",
        doc="Where SMTP clients are listened for. Clients of a unix: socket are known by the login they run under.",
    )
    entry_stage: str = stage(required=True, doc="Where a message begins that was accepted.")

    local_domains: tuple[str, ...] = domains((), doc="The domains for which mail is taken from anybody.")
    relay_networks: tuple[IPv4Network | IPv6Network, ...] = networks(
        "127.0.0.0/8 ::1/128",
        doc="Whose mail is taken for any domain. Beside these only clients that authenticated or came by a unix: "
        "socket may have mail relayed.",
    )

    certificate_file: Path | None = path(
        None, unset="STARTTLS is not offered", doc="The certificate chain for STARTTLS, as PEM, our own first."
    )
    key_file: str | None = secret(
        None, unset="CERTIFICATE_FILE holds the key, too", doc="The private key of the certificate, as PEM."
    )
    password_file: str | None = secret(
        None,
        unset="AUTH is not offered",
        doc="Logins and argon2id hashes of passwords, written by pepsi-ingress passwd. AUTH needs TLS or a unix: "
        "socket.",
    )

    max_message_size: int = size("50 MiB", low=65536, high=2**28, doc="The largest message that is taken.")
    max_recipients: int = integer(
        1000, low=100, high=100_000, doc="The most recipients of one message; those past it are told to come again."
    )
    max_hops: int = integer(
        100,
        low=1,
        high=1000,
        doc="The most Received fields that a message may bring along; with more it loops.",
    )
    max_command_length: int = size(
        "4 KiB", low=512, high=65536, doc="The longest command line. A client that sends a longer one is cut off."
    )
    max_errors: int = integer(
        50, low=1, high=10_000, doc="How many refused commands a session may have since its last message got through."
    )
    max_sessions: int = integer(1000, low=1, high=100_000, doc="How many sessions may be open at once.")
    max_sessions_per_peer: int = integer(
        100,
        low=1,
        high=100_000,
        doc="How many of them one client may have: an address, an IPv6 network of 64 bits, or a login on a unix: "
        "socket.",
    )
    max_memory: int = size(
        "512 MiB",
        low=7 * 65536,
        doc="The most memory that messages take, beside some 80 MiB of the program itself. Storing a message takes six "
        "times its size, so that 6 x MAX_MESSAGE_SIZE is set aside for that; the rest is for messages that are being "
        "received or wait for the database, and beyond it clients are told to come again.",
    )

    greeting_delay: float = duration(
        "0 s",
        high=60,
        doc="How long clients outside RELAY_NETWORKS wait for the greeting. Those who speak first are cut off.",
    )
    command_timeout: float = duration(
        "5 min", low=SHORTEST, high=LONGEST, doc="How long a client may take to send one whole command."
    )
    data_timeout: float = duration(
        "5 min", low=SHORTEST, high=LONGEST, doc="How long a client may be silent in the middle of a message."
    )
    message_timeout: float = duration(
        "1 h", low=SHORTEST, high=LONGEST, doc="How long a client may take to send one whole message."
    )
    database_timeout: float = duration(
        "2 min",
        low=SHORTEST,
        high=LONGEST,
        doc="How long the database may take to store a message before the client is told to come again.",
    )
    shutdown_timeout: float = duration(
        "30 s", low=0, high=3600, doc="How long sessions in the middle of a message may go on when the door is closed."
    )

    def __post_init__(self) -> None:
        if self.key_file is not None and self.certificate_file is None:
            raise ValueError("KEY_FILE is of no use without CERTIFICATE_FILE")
        if self.message_room < self.max_message_size:
            raise ValueError(f"MAX_MEMORY must be at least {STORING_COST + 1} x MAX_MESSAGE_SIZE")

    @property
    def message_room(self) -> int:
        """Bytes of messages that may be received or wait: MAX_MEMORY without what storing the largest one takes."""
        return self.max_memory - STORING_COST * self.max_message_size
