"""The host that the demo relays to: an SMTP door like our own, before a store that keeps what comes in memory."""

from collections.abc import Callable
from typing import Any

from twisted.internet import defer

from pepsi.config.load import load_text
from pepsi.ingress.service import DoorService
from pepsi.model.envelope import Arrival
from pepsi.tap.ingress import make_door

CONFIGURATION = """
[pepsi]
HOSTNAME = sink.example

[pepsi-postgres]
DSN = embedded

[pepsi-ingress]
LISTEN = tcp:0:interface=127.0.0.1
ENTRY_STAGE = memory
RELAY_NETWORKS = 127.0.0.0/8

[stage-memory]
PROGRAM = true
"""
"""As far as a door needs one: there is no database behind it, and nothing is dispatched."""


class Memory:
    """A store that forgets when the process ends."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []

    def submit(self, arrival: Arrival) -> defer.Deferred[int]:
        """Keep *arrival*; its id is its number."""
        self.arrivals.append(arrival)
        return defer.succeed(len(self.arrivals))


def make_sink(reactor: Any, memory: Memory, fail: Callable[[str], None]) -> DoorService:
    """Return the sink as a service. It listens on a free port of the loopback, which ``addresses`` names then."""
    config = load_text(CONFIGURATION, "sink.conf")
    return DoorService(reactor, make_door(config, memory), config.ingress.listen, fail)
