"""Where accepted messages go: the border between the door and whatever keeps them."""

from typing import Protocol

from twisted.internet.defer import Deferred

from pepsi.errors import IngressError
from pepsi.model.envelope import Arrival


class Unavailable(IngressError):
    """The message is not known to be kept: the client must send it again. It may be kept all the same."""


class Store(Protocol):
    """Keeps messages. Called from the reactor thread only."""

    def submit(self, arrival: Arrival) -> Deferred[int]:
        """Keep *arrival*. The Deferred gives its id once it is safe from a crash, or fails with Unavailable.

        It may be called again before the last message is safe. Cancelling is not heeded.
        """
