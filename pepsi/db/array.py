"""Arrays as text, to be cast in the statement.

The driver writes a list as ARRAY[...], of which PostgreSQL makes an expression with a node for each member: a thousand
members cost milliseconds. The text of an array is read in a tenth of that.
"""

from collections.abc import Iterable


def numbers(values: Iterable[float]) -> str:
    """Return the text of an array of numbers, whole or not."""
    return "{" + ",".join(map(repr, values)) + "}"


def texts(values: Iterable[str]) -> str:
    """Return the text of an array of texts."""
    members = list(values)
    together = "".join(members)
    if '"' in together or "\\" in together:
        members = [member.replace("\\", "\\\\").replace('"', '\\"') for member in members]
    return '{"' + '","'.join(members) + '"}' if members else "{}"
