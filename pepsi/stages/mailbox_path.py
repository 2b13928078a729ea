"""Where a recipient's mailbox is: a pattern of the operator's, filled in with what a stranger wrote. Pure."""

import re
import unicodedata
from dataclasses import dataclass

from pepsi.config.kind import Kind
from pepsi.config.option import Option
from pepsi.relay.addresses import split_address, unquoted

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NAMES = ("local_part", "domain", "recipient")
_HARMLESS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789@+=_-,~")


@dataclass(frozen=True, slots=True)
class MailboxPath:
    """The names of the directories that lead to a mailbox, with ``{local_part}``, ``{domain}`` or ``{recipient}``."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return "/".join(self.parts)

    def of(self, recipient: str) -> tuple[str, ...] | None:
        """Return the names for *recipient*; None if it lacks a part that the pattern asks for.

        Letter case makes no difference. No recipient can choose more than a part of a single name: every octet that
        means something in a path is written as ``%`` and two digits.
        """
        local, domain = split_address(recipient)
        words = {"local_part": unquoted(local), "domain": domain, "recipient": f"{unquoted(local)}@{domain}"}
        if any(not words[name] for part in self.parts for name in _PLACEHOLDER.findall(part)):
            return None
        return tuple(_PLACEHOLDER.sub(lambda found: _harmless(words[found[1]]), part) for part in self.parts)


def _harmless(word: str) -> str:
    folded = unicodedata.normalize("NFC", word).lower().encode("utf-8", "replace")
    inside = _HARMLESS | {ord(".")}
    # A dot is harmless only where a name has begun: "." and ".." mean directories, and ".x" is hidden.
    return "".join(
        chr(byte) if byte in (inside if place else _HARMLESS) else f"%{byte:02x}" for place, byte in enumerate(folded)
    )


def _parse(text: str) -> MailboxPath:
    parts = tuple(text.split("/"))
    names = _PLACEHOLDER.findall(text)
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise ValueError(f"expected only {', '.join(f'{{{name}}}' for name in _NAMES)} in braces, not {{{unknown[0]}}}")
    if re.search(r"[{}\0]", _PLACEHOLDER.sub("", text)):
        raise ValueError("expected each { to have its }")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError("expected names with single slashes between them, below the directory, without . and ..")
    return MailboxPath(parts)


mailbox_path: Option[MailboxPath] = Option(
    Kind(
        name="mailbox path",
        syntax="Names of directories with slashes between them, in which {local_part}, {domain} and {recipient} stand "
        "for the recipient's address or a part of it.",
        parse=_parse,
    )
)
"""Declares a key whose value is such a pattern."""
