"""What a worker may say when: its output as a stream of bytes, read by the dispatcher's end."""

import re
from dataclasses import dataclass

from pepsi.errors import WireError
from pepsi.model.status import Status
from pepsi.wire.status import LINE_LIMIT, READY, READY_BATCH, parse

_ID = re.compile(rb"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker's first line: it takes ids from now on. *batch*: it may work on several at once."""

    batch: bool


class WorkerOutput:
    """Turns what a worker writes into ``Ready`` and ``Status`` values, or refuses it.

    After an error the worker cannot be believed any more: feed it nothing further.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._ready = False

    def feed(self, data: bytes) -> tuple[list[Ready | Status], WireError | None]:
        """Take *data*; return what it completes up to the first bad line, and the error that line is, if any."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        heard: list[Ready | Status] = []
        for line in lines:
            try:
                heard.append(self._line(line))
            except WireError as error:
                return heard, error
        if len(self._buffer) > LINE_LIMIT:
            return heard, WireError(f"a line of more than {LINE_LIMIT} bytes")
        return heard, None

    def _line(self, line: bytes) -> Ready | Status:
        if len(line) > LINE_LIMIT:
            raise WireError(f"a line of more than {LINE_LIMIT} bytes")
        if self._ready:
            return parse(line)
        if line not in (READY, READY_BATCH):
            raise WireError(f"{line[:80]!r} before 'ready'")
        self._ready = True
        return Ready(batch=line == READY_BATCH)


def render_ids(ids: list[int]) -> bytes:
    """Return *ids* as the dispatcher writes them: one a line, in one write."""
    return b"".join(b"%d\n" % number for number in ids)


def parse_id(line: bytes) -> int:
    """Read one line of the dispatcher, without its line end. Raises WireError."""
    if _ID.fullmatch(line) is None:
        raise WireError(f"{line[:80]!r} is not a message id")
    return int(line)
