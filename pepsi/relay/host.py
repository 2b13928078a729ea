"""How to reach one host, and how far to trust it."""

import enum
from dataclasses import dataclass, field

from pepsi.relay.channel import Wrap


class TlsPolicy(enum.StrEnum):
    """What is asked of a connection before a message goes over it."""

    NONE = "none"
    """TLS is not used."""
    MAY = "may"
    """TLS if the host can, any certificate; without if that fails."""
    ENCRYPT = "encrypt"
    """TLS, any certificate."""
    VERIFY = "verify"
    """TLS, with a certificate of a known authority that names the host."""

    @property
    def is_mandatory(self) -> bool:
        """Whether nothing is sent without TLS."""
        return self in (TlsPolicy.ENCRYPT, TlsPolicy.VERIFY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long each step may take, in seconds (RFC 5321, section 4.5.3.2, asks for as much).

    *command* is for a whole reply; *block* is how long the host may take no further byte of a message; *final* is the
    wait for the reply to the message.
    """

    connect: float = 30.0
    command: float = 300.0
    block: float = 180.0
    final: float = 600.0


@dataclass(frozen=True, slots=True)
class Login:
    """A user name and its password. The password stays out of ``repr``."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host. *helo* is the name we give ourselves.

    *wrap* makes the TLS handshake, as *policy* asks for; it is needed unless that is ``none``. *implicit*: TLS begins
    with the connection. *login_in_clear*: the password may be sent to another machine without TLS.
    """

    name: str
    port: int
    helo: str
    policy: TlsPolicy = TlsPolicy.NONE
    wrap: Wrap | None = None
    implicit: bool = False
    login: Login | None = None
    login_in_clear: bool = False
    force_8bit: bool = False
    timeouts: Timeouts = field(default_factory=Timeouts)
