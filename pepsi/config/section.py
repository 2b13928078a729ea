"""One section of a configuration: from the words of a file to a checked value, with every error in it."""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pepsi.config import kind as kinds
from pepsi.config.option import Declared, declared
from pepsi.model.text import one_line

T = TypeVar("T")

NO_SUCH_KEY = "no such key"

NOT_SHOWN = "(not shown)"

SHOWN_LIMIT = 120
"""Bytes of a wrong value that a message repeats."""

_SECRET_WORDS = re.compile(r"PASS|SECRET|TOKEN|PRIVATE|DSN|postgres(?:ql)?://", re.IGNORECASE)
_NO_DIRECTORY = Path()


@dataclass(frozen=True, slots=True)
class Entry:
    """A key's value as it was written, and where. *line* is None in what is no file."""

    value: str
    file: str
    line: int | None

    def problem(self, section: str, key: str, expected: str, hint: str | None = None) -> "Problem":
        """Return what is wrong with this entry, which stands under *key* in *section*."""
        return Problem(
            file=self.file,
            line=self.line,
            section=section,
            key=key,
            value=self.value,
            expected=expected,
            hint=hint,
        )


@dataclass(frozen=True, slots=True)
class RawSection:
    """A section as it was written. Relative paths in it start from *directory*."""

    name: str
    line: int | None
    entries: Mapping[str, Entry]
    file: str = "pepsi.conf"
    directory: Path = _NO_DIRECTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, where, and the mend. ``str()`` of it is one printable line.

    Without a *key* the *value* is a whole line that could not be read. A value that may be a secret is not shown.
    """

    file: str
    line: int | None
    section: str | None = None
    key: str | None = None
    value: str | None = None
    expected: str
    hint: str | None = None
    concealed: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        names = [] if self.section is None else [f"[{self.section}]"]
        names += [] if self.key is None else [self.key]
        if self.value is not None:
            shown = NOT_SHOWN if self.concealed else discreet(self.key or "", self.value)
            names += [shown] if self.key is None else ["=", *([shown] if shown else [])]
        subject = f"{' '.join(names)}: " if names else ""
        hint = f"; {self.hint}" if self.hint else ""
        return one_line(_visible(f"{where}: {subject}{self.expected}{hint}"))


def discreet(key: str, value: str) -> str:
    """Return how a message repeats the *value* of *key*: shortened, or not at all if it may be a secret."""
    return NOT_SHOWN if _SECRET_WORDS.search(f"{key} {value}") else shortened(value)


def shortened(value: str) -> str:
    """Return *value* as one line that is short enough for a message, with what cannot be seen made visible."""
    line = one_line(_visible(value))
    return line if len(line.encode()) <= SHOWN_LIMIT else f"{one_line(line, SHOWN_LIMIT)}..."


def _visible(text: str) -> str:
    # As they are, a soft hyphen or a no-break space could not be found, and some signs would turn the line round.
    return "".join(sign if sign.isprintable() or sign == "\t" else ascii(sign)[1:-1] for sign in text)


def nearest(word: str, known: Iterable[str], cutoff: float = 0.75) -> str | None:
    """Return the hint that names the one of *known* that *word* was probably meant to be; None if none is near.

    *cutoff* is how alike they must be, from 0 to 1.
    """
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f"did you mean {close[0]}?" if close else None


def parse_section(
    cls: type[T],
    section: RawSection,
    *,
    ignore_unknown: bool = False,
    computed: Mapping[str, Any] | None = None,
) -> tuple[T | None, list[Problem]]:
    """Return the *cls* that *section* says, or None and all that is wrong with it.

    *cls* declares the keys with the functions of ``pepsi.config.option``; a ValueError of its ``__post_init__`` is what
    a rule over several keys has to say. Keys that it does not declare are errors unless *ignore_unknown* is set.
    *computed* has, by key, the values of computed defaults.
    """
    options = {option.key: option for option in declared(cls)}
    problems = [] if ignore_unknown else [_unknown(section, key, options) for key in section.entries.keys() - options]
    values = {options[key].field: value for key, value in (computed or {}).items()}
    for key, option in options.items():
        entry = section.entries.get(key)
        if entry is not None:
            try:
                values[option.field] = _parse(option, entry, section.directory)
            except ValueError as error:
                problems.append(_wrong(section, option, entry, str(error)))
        elif option.required:
            problems.append(
                Problem(
                    file=section.file,
                    line=section.line,
                    section=section.name,
                    key=key,
                    expected="this key must be set",
                    hint=f"its value is a {option.type_name}: {option.doc}",
                )
            )
    if problems:
        return None, sorted(problems, key=lambda problem: (problem.line or 0, problem.key or ""))
    try:
        return cls(**values), []
    except ValueError as error:
        return None, [Problem(file=section.file, line=section.line, section=section.name, expected=str(error))]


def _parse(option: Declared, entry: Entry, directory: Path) -> Any:
    value = option.parse(entry.value)
    if option.kind is kinds.PATH:
        return directory / value
    if option.kind is kinds.SECRET and "/" in value:
        return str(directory / value)
    return value


def _wrong(section: RawSection, option: Declared, entry: Entry, expected: str) -> Problem:
    return dataclasses.replace(entry.problem(section.name, option.key, expected), concealed=option.concealed)


def _unknown(section: RawSection, key: str, known: Iterable[str]) -> Problem:
    return section.entries[key].problem(section.name, key, NO_SUCH_KEY, nearest(key, known))
