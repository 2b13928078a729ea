"""Picks header fields out of a message, to be shown and matched. Never raises, whatever the bytes.

The standard library's parser of messages is not used: it raises IndexError and worse on mail that real hosts send.
"""

import re
from email.errors import HeaderParseError
from email.header import decode_header

from pepsi.model.text import decoded, one_line

FIELD_LIMIT = 998
"""Bytes of UTF-8 that are kept of a decoded field: the longest line that mail may have."""

_SCAN_LIMIT = 1 << 20
"""Bytes of a header block that are searched: more of it is no header that anybody wrote."""
_RAW_LIMIT = 4 * FIELD_LIMIT
"""Bytes of a field that are looked at: encoded, a character takes up to four times its room."""
_FOLD = re.compile(rb"\r?\n(?=[ \t])")
_LANGUAGE = re.compile(r"(=\?[^?*\s]*)\*[^?\s]*(?=\?[bBqQ]\?)")


def raw_field(header_block: bytes, name: bytes) -> bytes | None:
    """Return what stands behind the colon of the first field called *name*, unfolded; None if there is no such field.

    The case of *name* does not matter. At most ``_RAW_LIMIT`` bytes are returned.
    """
    header_block = header_block[:_SCAN_LIMIT]
    found = re.search(rb"^%s[ \t]*:" % re.escape(name), header_block, re.IGNORECASE | re.MULTILINE)
    if found is None:
        return None
    end = re.compile(rb"\n(?![ \t])").search(header_block, found.end())
    value = header_block[found.end() : end.start() if end else None]
    return _FOLD.sub(b"", value[: 2 * _RAW_LIMIT])[:_RAW_LIMIT]


def shown_field(header_block: bytes, name: bytes) -> str:
    """Return the first field called *name* decoded, as one printable line fit to be stored; '' if there is none."""
    value = raw_field(header_block, name)
    return "" if value is None else one_line(_decoded(value), FIELD_LIMIT)


def _decoded(value: bytes) -> str:
    """Return *value* with its encoded words (RFC 2047, RFC 2231 section 5) decoded, or as it is if one is not valid."""
    if b"=?" not in value:
        return decoded(value)
    try:
        # As Latin-1 every byte comes through, so that what stands between the words is the same bytes again.
        parts = decode_header(_LANGUAGE.sub(r"\1", value.decode("latin-1")))
        return "".join(
            (part.encode("latin-1") if isinstance(part, str) else part).decode(charset or "utf-8", "replace")
            for part, charset in parts
        )
    except (HeaderParseError, LookupError, ValueError, AssertionError):
        return decoded(value)
