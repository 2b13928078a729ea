"""What goes wrong between us and another host, as opposed to what the host says about a message."""

from pepsi.errors import RelayError
from pepsi.relay.replies import Reply


class LinkError(RelayError):
    """The connection cannot be made, was lost, or cannot be trusted any further. It says nothing about a message.

    *status* is a code of RFC 3463; *reply* is what the host said, if it said anything.
    """

    def __init__(self, reason: str, *, status: str = "4.4.2", reply: Reply | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reply = reply


class TlsError(LinkError):
    """TLS could not be set up, or the host's certificate does not hold."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, status="4.7.5")
