"""Making hostile text fit for a ``text`` or ``jsonb`` column, a log line, a terminal."""

import re

REASON_LIMIT = 1024
"""Bytes of a reason that are kept, in UTF-8."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def storable(text: str) -> str:
    """Return *text* without what PostgreSQL refuses: NUL is dropped, lone surrogates become U+FFFD."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\0", ""))


def decoded(data: bytes) -> str:
    """Return *data* as storable text, undecodable bytes replaced."""
    return storable(data.decode("utf-8", "replace"))


def cut(text: str, limit: int) -> str:
    """Return *text* cut to at most *limit* bytes of UTF-8, at a character's border."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")


def one_line(text: str, limit: int = REASON_LIMIT) -> str:
    """Return *text* as one printable, storable line of at most *limit* bytes: control characters become spaces."""
    return cut(" ".join(_CONTROL.sub(" ", storable(text)).split()), limit)
