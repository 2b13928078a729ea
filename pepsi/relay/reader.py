"""From the bytes of a host that nobody vouches for to replies. Pure (RFC 5321, section 4.2)."""

import re

from pepsi.model.text import decoded, one_line
from pepsi.relay.faults import LinkError
from pepsi.relay.replies import Reply

LINE_LIMIT = 4096
"""Bytes of the longest line taken. RFC 5321 allows 512; some hosts put whole sentences with links into one."""
LINES_LIMIT = 128
"""Lines of the longest reply taken."""

_LINE = re.compile(rb"([2-5][0-9][0-9])(?:([ -])(.*))?", re.DOTALL)


class ReplyReader:
    """Cuts a stream of bytes into replies.

    Raises LinkError for what is no reply, or too long for one. After that the stream cannot be trusted any more.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._lines: list[bytes] = []

    @property
    def is_empty(self) -> bool:
        """Whether everything that was fed has been handed out."""
        return not self._buffer and not self._lines

    def feed(self, data: bytes) -> None:
        """Take *data* in."""
        self._buffer += data

    def take(self) -> Reply | None:
        """Return the next whole reply, or None when more bytes are needed.

        In a reply of several lines the code of the last one counts: some hosts are careless with the others.
        """
        while b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            found = _LINE.fullmatch(self._checked(line).removesuffix(b"\r"))
            if found is None:
                raise LinkError(f"not an SMTP reply: {one_line(decoded(line[:80]))!r}", status="4.5.0")
            self._lines.append(found[3] or b"")
            if found[2] != b"-":
                lines, self._lines = tuple(self._lines), []
                return Reply(code=int(found[1]), lines=lines)
            if len(self._lines) >= LINES_LIMIT:
                raise LinkError(f"a reply of more than {LINES_LIMIT} lines", status="4.5.0")
        self._checked(self._buffer)
        return None

    @staticmethod
    def _checked(line: bytes) -> bytes:
        if len(line) > LINE_LIMIT:
            raise LinkError(f"a reply line of more than {LINE_LIMIT} bytes", status="4.5.0")
        return line
