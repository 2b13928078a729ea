"""The worker's end of the pipe to its dispatcher: ids in, one line out for each.

The dispatcher closes the pipe only when every id that it wrote is answered. So an end of input with ids unread means
that the dispatcher died: nothing more may be begun, for the next dispatcher hands the same messages out again.
"""

import enum
import os
import select
from collections.abc import Iterable

from pepsi.errors import WireError
from pepsi.wire.session import parse_id

ID_LINE_LIMIT = 32
"""Bytes of the longest line that can be an id."""

_CHUNK = 65_536
# Of a socket, only POLLRDHUP tells that its other side was shut down.
_WATCHED = select.POLLIN | getattr(select, "POLLRDHUP", 0)
_HUNG_UP = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class End(enum.Enum):
    """Why no more ids may be begun."""

    CLOSED = "closed"
    ABANDONED = "abandoned"


class Channel:
    """Ids from the descriptor *inbox*, answers to *outbox*."""

    def __init__(self, inbox: int, outbox: int) -> None:
        self._inbox = inbox
        self._outbox = outbox
        self._lines: list[bytes] = []
        self._partial = b""
        self._exhausted = False
        self._look = select.poll()
        self._look.register(inbox, _WATCHED)

    @classmethod
    def take(cls) -> "Channel":
        """Move standard input and output of this process out of reach, and return the channel over what they were.

        From then on whatever is printed goes to standard error, and whatever reads standard input finds it empty. No
        child of this process inherits the channel.
        """
        channel = cls(os.dup(_STDIN), os.dup(_STDOUT))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, _STDIN)
        os.close(nothing)
        os.dup2(_STDERR, _STDOUT)
        return channel

    def say(self, line: bytes) -> None:
        """Write *line*, or several with line ends between them, in one write if the pipe takes it so.

        Raises BrokenPipeError if nobody is there to read it.
        """
        rest = line + b"\n"
        while rest:
            rest = rest[os.write(self._outbox, rest) :]

    def next(self, limit: int = 1) -> list[int] | End:
        """Return up to *limit* ids, none if none has come yet, or that no more may be begun.

        Never blocks. Raises WireError for a line that is no id.
        """
        events = sum(event for _, event in self._look.poll(0))
        if events & _HUNG_UP:
            return End.ABANDONED if self._lines or self._partial or events & select.POLLIN else End.CLOSED
        if events and len(self._lines) < limit:
            self._read()
        if not self._lines and self._exhausted:
            return End.ABANDONED if self._partial else End.CLOSED
        taken, self._lines = self._lines[:limit], self._lines[limit:]
        return [parse_id(line) for line in taken]

    def wait(self, others: Iterable[int], timeout: float | None) -> frozenset[int]:
        """Wait until there is an id, an end, or something to read from one of *others*; at most *timeout* seconds.

        Returns those of *others* that have something.
        """
        look = select.poll()
        look.register(self._inbox, _WATCHED)
        for other in others:
            look.register(other, select.POLLIN)
        events = look.poll(None if timeout is None else timeout * 1000)
        return frozenset(descriptor for descriptor, _ in events if descriptor != self._inbox)

    def _read(self) -> None:
        data = os.read(self._inbox, _CHUNK)
        # A pipe that ends says so by POLLHUP. This is for input from a file or a terminal.
        self._exhausted = not data
        *lines, self._partial = (self._partial + data).split(b"\n")
        self._lines += lines
        if len(self._partial) > ID_LINE_LIMIT:
            raise WireError(f"{self._partial[:80]!r} is not a message id")
