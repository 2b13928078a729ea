"""Making hostile text fit for a ``text`` or ``jsonb`` column, a log line, a terminal."""

import re
import unicodedata

REASON_LIMIT = 1024
"""Bytes of a reason that are kept, in UTF-8."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_JOINERS = "\u200c\u200d"
"""Persian words and many emoji are written with them; they change no more than the shape of their neighbours."""
_NO_ASCII = re.compile(r"[^\x00-\x7e]")


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


def visible(text: str) -> str:
    """Return *text* as one line that cannot drive a terminal (I12): what is no plain sign is written as an escape.

    That is every control character, what turns a line round or cannot be seen, line and paragraph separators, lone
    surrogates. Spaces of all widths stay.
    """
    return text if text.isprintable() else "".join(sign if _is_plain(sign) else ascii(sign)[1:-1] for sign in text)


def ascii_json(document: str) -> str:
    """Return the JSON text *document* with all beyond printable ASCII escaped, as it may be anywhere in a string.

    So it is the same in every character set, and harmless to a terminal. A lone surrogate becomes U+FFFD: many readers
    refuse an escape of one.
    """
    return _NO_ASCII.sub(_escape, document)


def _is_plain(sign: str) -> bool:
    return sign.isprintable() or sign in _JOINERS or unicodedata.category(sign) == "Zs"


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number > 0xFFFF:
        number -= 0x10000
        return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"
    return "\\ufffd" if 0xD800 <= number <= 0xDFFF else f"\\u{number:04x}"
