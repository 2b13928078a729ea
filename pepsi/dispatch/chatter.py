"""What a worker says on its standard error: split into lines, bounded, and no more of it than a log can bear."""

from collections.abc import Callable

LINE_LIMIT = 2000
"""Bytes of one line that are kept."""
BURST = 100
"""Lines that a worker may log in ``PERIOD`` seconds."""
PERIOD = 10.0


class Chatter:
    """Feeds lines to *log*, and counts what it leaves out. Holds at most one line in memory."""

    def __init__(self, log: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._rest = b""
        self._cut = False
        self._since = clock()
        self._lines = 0
        self._left_out = 0

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole, self._rest = self._rest + line[: LINE_LIMIT + 1], b""
            if not self._cut:
                self._line(whole)
            self._cut = False
        if self._cut:
            return
        self._rest += rest[: LINE_LIMIT + 1]
        if len(self._rest) > LINE_LIMIT:
            self._line(self._rest)
            self._rest, self._cut = b"", True

    def close(self) -> None:
        """Log what is left: an unfinished line, and how much was left out."""
        if self._rest:
            self._line(self._rest)
            self._rest = b""
        self._tell()

    def _line(self, line: bytes) -> None:
        now = self._clock()
        if now - self._since >= PERIOD:
            self._tell()
            self._since, self._lines = now, 0
        self._lines += 1
        if self._lines > BURST:
            self._left_out += 1
            return
        text = line[:LINE_LIMIT].decode("utf-8", "backslashreplace").rstrip("\r")
        text = "".join(c if c.isprintable() or c == "\t" else repr(c)[1:-1] for c in text)
        if text:
            self._log(text + (" [cut]" if len(line) > LINE_LIMIT else ""))

    def _tell(self) -> None:
        if self._left_out:
            self._log(f"[{self._left_out} more lines left out]")
            self._left_out = 0
