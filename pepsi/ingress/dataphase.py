"""The data of one message: chunks as the network cut them go in, the message comes out byte for byte. Pure.

Only CRLF . CRLF ends the data, and only CRLF ends a line. A CR or LF that stands alone is a line's end to some hosts
and none to others, so a message with one could be two messages elsewhere: it is read to its end and refused.
"""

import enum

_END = b"\r\n.\r\n"
_STARTS = (b"\r\n.\r", b"\r\n.", b"\r\n", b"\r")


class Flaw(enum.Enum):
    """Why a message that was read to its end is not to be had. The first that was found counts."""

    CHARACTERS = "bare CR, bare LF or NUL"
    SIZE = "larger than allowed"
    MEMORY = "dropped for want of memory"


class DataPhase:
    """Reads one message of at most *limit* bytes, dots unstuffed (RFC 5321, section 4.5.2)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # One buffer, not a list of chunks: of a message that comes byte by byte the list would be the larger part.
        self._taken = bytearray()
        # The line before the first one ended, too: then a dot that comes first is like any other.
        self._held = b"\r\n"
        self._first = True
        self.flaw: Flaw | None = None

    @property
    def kept(self) -> int:
        """Bytes of the message that are in memory."""
        return len(self._taken)

    def feed(self, data: bytes) -> bytes | None:
        """Take *data*. Returns what follows the end of the message, or None while there is no end."""
        if self._held:
            data = self._held + data
            self._held = b""
        end = data.find(_END)
        if end >= 0:
            self._take(data[: end + 2])
            return data[end + len(_END) :]
        for start in _STARTS:
            if data.endswith(start):
                self._held = start
                data = data[: -len(start)]
                break
        if data:
            self._take(data)
        return None

    def spoil(self, flaw: Flaw) -> None:
        """Drop what is there and what is to come. The message is still read to its end."""
        if self.flaw is None:
            self.flaw = flaw
        self._taken = bytearray()

    def message(self, prefix: bytes) -> bytes:
        """Hand over *prefix* and the message as one, after its end, and keep nothing of it. There must be no flaw."""
        taken, self._taken = self._taken, bytearray()
        return prefix + taken

    def _take(self, lines: bytes) -> None:
        # What is held back sees to it that no CRLF and no stuffed dot is ever cut in two between calls.
        if self.flaw is not None:
            return
        ends = lines.count(b"\r\n")
        if lines.count(b"\n") != ends or lines.count(b"\r") != ends or b"\0" in lines:
            self.spoil(Flaw.CHARACTERS)
            return
        lines = lines.replace(b"\r\n.", b"\r\n")
        if self._first:
            self._first = False
            lines = lines[2:]
        if len(self._taken) + len(lines) > self._limit:
            self.spoil(Flaw.SIZE)
        else:
            self._taken += lines
