"""What a host says it can do: its reply to EHLO. Pure (RFC 5321, section 4.1.1.1)."""

from dataclasses import dataclass

from pepsi.relay.replies import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """The extensions of one host. *size_limit* is None when it named none (RFC 1870); *auth* are mechanisms."""

    keywords: frozenset[str] = frozenset()
    size_limit: int | None = None
    auth: frozenset[str] = frozenset()

    def __contains__(self, keyword: str) -> bool:
        return keyword in self.keywords


NONE = Extensions()
"""A host that knows only HELO."""


def extensions_of(reply: Reply) -> Extensions:
    """Read a positive reply to EHLO. Lines that make no sense are passed over: nothing hangs on them."""
    keywords: set[str] = set()
    auth: set[str] = set()
    size_limit = None
    for line in reply.lines[1:]:
        # "AUTH=LOGIN" is how hosts wrote it before there was a standard; many still send both forms.
        word, *values = line.decode("ascii", "replace").upper().replace("AUTH=", "AUTH ", 1).split() or [""]
        keywords.add(word)
        if word == "AUTH":
            auth.update(values)
        elif word == "SIZE" and values and values[0].isascii() and values[0].isdigit():
            size_limit = int(values[0][:20]) or None
    return Extensions(keywords=frozenset(keywords), size_limit=size_limit, auth=frozenset(auth))
