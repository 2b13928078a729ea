"""What all sessions of the SMTP door share."""

from collections.abc import Callable
from dataclasses import dataclass

from twisted.internet.interfaces import IOpenSSLContextFactory, IReactorTime

from pepsi.config.ingress_options import Ingress
from pepsi.ingress.conversation import House
from pepsi.ingress.sessions import Sessions
from pepsi.ingress.store import Store
from pepsi.ingress.verifier import Verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """*options* are asked for time-outs and the length of commands; *house* has what clients are told and granted.

    *wall_clock* gives the seconds since 1970, *new_id* a word that no other message has.
    """

    reactor: IReactorTime
    options: Ingress
    house: House
    sessions: Sessions
    store: Store
    wall_clock: Callable[[], float]
    new_id: Callable[[], str]
    verifier: Verifier | None = None
    tls: IOpenSSLContextFactory | None = None
