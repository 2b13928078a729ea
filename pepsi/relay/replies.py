"""What another host said, as a value. Pure (RFC 5321, section 4.2; RFC 3463)."""

import re
from dataclasses import dataclass

from pepsi.model.text import decoded, one_line

TEXT_LIMIT = 512
"""Bytes of a reply's text that are kept."""

CLOSING = 421
GO_AHEAD = 354

_STATUS = re.compile(r"([245]\.[0-9]{1,3}\.[0-9]{1,3})(?:\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply. *lines* are the texts as received, *text* all of them as one printable line."""

    code: int
    lines: tuple[bytes, ...]

    @property
    def text(self) -> str:
        """The text in one line, without control characters, cut to a length that fits a log and a row."""
        return one_line(" ".join(decoded(line) for line in self.lines), TEXT_LIMIT)

    @property
    def status(self) -> str:
        """The enhanced status code (RFC 3463) that the host gave, else the most general one of the reply's class.

        A code of another class than the reply is not believed.
        """
        found = _STATUS.match(decoded(self.lines[0]))
        if found and found[1][0] == str(self.code)[0]:
            return found[1]
        return f"{self.code // 100}.0.0"

    def __str__(self) -> str:
        return f"{self.code} {self.text}".rstrip()
