"""Which senders send in bulk, told from a stream without remembering all of them."""

import math

BULK, LIGHT = "bulk", "light"
ENOUGH = 50
"""Messages of one sender before it can be called a bulk sender: the first in a stream has sent all there is."""


class ByShare:
    """Calls a sender bulk while it has sent more than *share* of all messages so far.

    It keeps one count for each sender that could have so large a share (the algorithm of Misra and Gries), however many
    senders there are; a count falls behind by less than a quarter of the share.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._room = math.ceil(4 / share)
        self._counts: dict[str, int] = {}
        self._total = 0

    def group(self, sender: str) -> str:
        """Count one message of *sender* and return its class."""
        self._total += 1
        counts = self._counts
        count = counts.get(sender)
        if count is None:
            if len(counts) < self._room:
                counts[sender] = 1
            else:
                self._counts = {name: kept - 1 for name, kept in counts.items() if kept > 1}
            return LIGHT
        counts[sender] = count = count + 1
        return BULK if count >= ENOUGH and count > self._share * self._total else LIGHT
