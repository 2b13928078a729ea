"""What a client has sent and nobody has looked at yet. Pure."""


class Inbox:
    """Bytes in order; lines are taken from the front without copying what is behind them."""

    def __init__(self) -> None:
        self._data = b""
        self._at = 0

    def __len__(self) -> int:
        return len(self._data) - self._at

    def add(self, data: bytes) -> None:
        """Put *data* behind what is there."""
        self._data = self.take_all() + data if len(self) else data
        self._at = 0

    def take_line(self, limit: int) -> bytes | None:
        """Take the first line, without its CRLF. None: there is no whole line of at most *limit* bytes."""
        end = self._data.find(b"\r\n", self._at, self._at + limit + 2)
        if end < 0:
            return None
        line = self._data[self._at : end]
        self._at = end + 2
        return line

    def take_all(self) -> bytes:
        """Take everything."""
        data, at = self._data, self._at
        self._data, self._at = b"", 0
        return data[at:] if at else data
