"""A statement with its parameters, and the named statements that stand in ``queries/*.sql``.

Nothing here talks to a database: both drivers run what this module returns.
"""

import difflib
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

QUERIES = Path(__file__).with_name("queries")

_HEADING = re.compile(r"^--[ \t]*name:[ \t]*(\S*)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*--.*\n?", re.MULTILINE)
_PERCENT = re.compile(r"%(?:%|\((\w+)\)s)?")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and the values of its ``%(name)s`` placeholders: ``cursor.execute(*statement.call)`` runs it."""

    text: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def call(self) -> tuple[str, Mapping[str, Any] | None]:
        """What to hand the driver's ``execute``. Given parameters, even none at all, it would read every ``%``."""
        return self.text, self.params or None


@dataclass(frozen=True, slots=True)
class Query:
    """A named statement as loaded: *text* as the driver wants it, and the names of its placeholders."""

    text: str
    placeholders: frozenset[str]


def named(query_name: str, /, **params: Any) -> Statement:
    """Return the statement that stands under *query_name* in ``queries/*.sql``, with *params*.

    Raises LookupError for a name that is not there, TypeError for parameters that are not exactly those it has.
    """
    query = _shipped().get(query_name)
    if query is None:
        near = difflib.get_close_matches(query_name, _shipped(), 1)
        raise LookupError(f"no query is named {query_name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    if params.keys() != query.placeholders:
        raise TypeError(
            f"query {query_name!r} takes {sorted(query.placeholders) or 'no parameters'}, was given {sorted(params)}"
        )
    return Statement(query.text, params)


def load(files: Iterable[Path]) -> dict[str, Query]:
    """Read *files*: each query is headed by ``-- name: its_name`` and a sentence of comment, and ends at the next.

    Raises ValueError for a name given twice, a query without a sentence, text before the first name, and a lone ``%``
    (write ``%%``).
    """
    queries: dict[str, Query] = {}
    for file in files:
        before, *parts = _HEADING.split(file.read_text("utf-8"))
        if _COMMENT.sub("", before).strip():
            raise ValueError(f"{file.name}: text stands before the first '-- name:'")
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            if name in queries:
                raise ValueError(f"{file.name}: a query named {name!r} exists already")
            queries[name] = _parsed(f"{file.name}: {name!r}", body)
    return queries


@functools.cache
def _shipped() -> dict[str, Query]:
    return load(sorted(QUERIES.glob("*.sql")))


def _parsed(place: str, body: str) -> Query:
    if not body.lstrip().startswith("--"):
        raise ValueError(f"{place} has no sentence that says what it does")
    text = _COMMENT.sub("", body).strip().removesuffix(";").rstrip()
    placeholders = set()
    for found in _PERCENT.finditer(text):
        if found[0] == "%":
            raise ValueError(f"{place} holds a lone %; write %%")
        if found[1]:
            placeholders.add(found[1])
    if not placeholders:
        text = text.replace("%%", "%")
    return Query(text, frozenset(placeholders))
