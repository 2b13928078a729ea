"""Writes manual pages: text to roff, and the keys that a class declares to the list that a page has of them."""

import re
from collections.abc import Iterable

from pepsi.config.kind import AnyKind
from pepsi.config.option import Declared, declared

_SPECIAL = str.maketrans(
    {"\\": "\\e", "-": "\\-", "'": "\\(aq", '"': "\\(dq", "~": "\\(ti", "^": "\\(ha", "`": "\\(ga"}
)
_SENTENCE_END = re.compile(r"(?<=[.:]) (?=[A-Z])")
_KEY = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")


def literal(text: str) -> str:
    """Return *text* as roff that shows just that, whatever signs are in it."""
    escaped = text.translate(_SPECIAL)
    # At the start of a line a dot would begin a request.
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def prose(text: str) -> list[str]:
    """Return the lines of the paragraph *text*, a sentence each, keys in bold."""
    return [
        _KEY.sub(lambda key: f"\\fB{key[0]}\\fP", literal(line)) for line in _SENTENCE_END.split(" ".join(text.split()))
    ]


def example(text: str) -> list[str]:
    """Return *text* as lines that are shown as they are."""
    return [".RS", ".nf", *(literal(line) if line else "" for line in text.splitlines()), ".fi", ".RE"]


def key_list(options: Iterable[Declared]) -> list[str]:
    """Return the tagged list of *options*: key, kind, sentence, default, bounds."""
    return [line for option in options for line in _key(option)]


def own_keys(cls: type, base: type | None = None) -> list[Declared]:
    """Return the keys that *cls* declares, without those that it has from *base* as they are."""
    inherited = () if base is None else declared(base)
    return [option for option in declared(cls) if option not in inherited]


def kind_list(kinds: Iterable[AnyKind]) -> list[str]:
    """Return the tagged list that says how values of each of *kinds* are written."""
    return [line for kind in kinds for line in (".TP", f".I {literal(kind.name)}", *prose(kind.syntax))]


def _key(option: Declared) -> list[str]:
    facts = [option.kind.syntax] if option.type_name == "choice" else []
    facts += [f"Range: {option.bounds}."] if option.bounds else []
    if option.required:
        facts.append("Must be set.")
    elif option.default:
        facts.append(f"Default: {option.default}.")
    elif option.unset:
        facts.append(f"If it is not set, {option.unset}.")
    if option.per_address:
        facts.append("Can be set for single correspondents.")
    heading = f"\\fB{option.key}\\fP = \\fI{literal(option.type_name)}\\fP"
    return [".TP", heading, *prose(option.doc), *(line for fact in facts for line in prose(fact))]
