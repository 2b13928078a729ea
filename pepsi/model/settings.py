"""What single correspondents have set: whose value wins, and which recipients of a message share what they set. Pure.

A setting is of an address, of a domain (``@example.org``) or of everybody (``*``), for one key of one stage. That of
the exact address beats that of the domain, which beats that of everybody. The database compares addresses in the same
way: see ``pepsi.settings_address``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pepsi.model.row import LOCAL_ORIGIN

EVERYBODY = "*"
"""The address of what is set for everybody."""

ADDRESS_LIMIT = 1000
"""Bytes of the longest address, in UTF-8, that something can be set for."""
VALUE_LIMIT = 4000
"""Bytes of the longest value that can be set."""

Overrides = tuple[tuple[str, str], ...]
"""Keys of one stage with the values that win for a correspondent, in the order of the keys."""

_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(@[^@]*)?', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r'(["\\])')
_PLAIN = re.compile(r'[^\x01-\x20\x7f"\\@()<>,:;\[\]]+')


def settings_address(address: str) -> str:
    """Return *address* as settings are kept by it: however it is written, the same mailbox gives the same text.

    ASCII letters become small, in the local part too. Strictly the case of a local part is for its host to judge, but
    hardly a host has two mailboxes that differ in nothing else; and whoever writes to a mailbox must not be able to
    pick between two sets of settings by a capital letter, nor by quotes that the local part does not need. What is
    beyond ASCII is compared as it is written.
    """
    found = _QUOTED.fullmatch(address) if address.startswith('"') else None
    if found is not None:
        local = _ESCAPED.sub(r"\1", found[1])
        if not _PLAIN.fullmatch(local):
            escaped = _SPECIAL.sub(r"\\\1", local)
            local = f'"{escaped}"'
        address = local + (found[2] or "")
    return _small(address)


def settings_domain(address: str) -> str | None:
    """Return how what is set for the domain of *address* is kept, None if it has no domain."""
    return "@" + _small(address.rpartition("@")[2]) if "@" in address else None


def correspondents(mail_from: str, recipients: tuple[str, ...], state: Mapping[str, Any]) -> tuple[str, ...]:
    """Return whose settings count for a message: its sender's if it was made or handed in here, else its recipients'.

    The null sender of a notice has set nothing, so that for such a message only what is set for everybody counts.
    """
    return (mail_from,) if state.get(LOCAL_ORIGIN) is True else recipients


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which settings are to be loaded with a message: those of *keys* at *stages*."""

    stages: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


NOTHING_WANTED = Wanted()


@dataclass(frozen=True, slots=True)
class Group:
    """Recipients that share *overrides*, in the order of the message."""

    overrides: Overrides
    recipients: tuple[str, ...]


_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settings:
    """What was loaded with a message: for each stage by the address as it is kept, values by key.

    It tells all that is set at *stages* for *whose*, the correspondents that the message had then. None for either
    means that nothing is left out.
    """

    stages: frozenset[str] | None = None
    whose: tuple[str, ...] | None = None
    entries: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)

    def tell(self, stage: str, whose: tuple[str, ...]) -> bool:
        """Whether all is known that *whose* have set at *stage*."""
        if self.stages is not None and stage not in self.stages:
            return False
        return self.whose is None or whose is self.whose or frozenset(whose) <= frozenset(self.whose)

    def winning(self, stage: str, address: str, keys: frozenset[str]) -> Overrides:
        """Return which of *keys* are set at *stage* for the correspondent *address*, and to what."""
        own = self.entries.get(stage)
        return () if own is None else _winning(own, address, keys)

    def groups(self, stage: str, whose: tuple[str, ...], keys: frozenset[str]) -> tuple[Group, ...]:
        """Return *whose* by what they have set at *stage*, in the order in which the first of each group comes.

        Nobody is left out, and nobody is in two of them.
        """
        own = self.entries.get(stage)
        if own is None or own.keys() == {EVERYBODY} or len(whose) == 1:
            return (Group(self.winning(stage, whose[0] if whose else "", keys), whose),)
        found: dict[Overrides, list[str]] = {}
        for address in whose:
            found.setdefault(_winning(own, address, keys), []).append(address)
        return tuple(Group(overrides, tuple(group)) for overrides, group in found.items())


NOTHING_SET = Settings()
"""For a message that is in no database."""


def settings_of(
    wanted: Wanted, whose: tuple[str, ...], entries: Iterable[tuple[str, str, str, str]] | None
) -> Settings:
    """Return what is set for *whose* by *entries*: address, stage, key and value of each setting that was *wanted*."""
    by_stage: dict[str, dict[str, dict[str, str]]] = {}
    for address, stage, key, value in entries or ():
        by_stage.setdefault(stage, {}).setdefault(address, {})[key] = value
    return Settings(frozenset(wanted.stages), whose, by_stage)


def _small(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def _winning(own: Mapping[str, Mapping[str, str]], address: str, keys: frozenset[str]) -> Overrides:
    domain = settings_domain(address)
    values = {
        **own.get(EVERYBODY, _NOTHING),
        **(_NOTHING if domain is None else own.get(domain, _NOTHING)),
        **own.get(settings_address(address), _NOTHING),
    }
    return tuple(sorted((key, value) for key, value in values.items() if key in keys))
