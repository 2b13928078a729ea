"""The schema of the database against the one this Pepsi ships: what stands there, and the statements that change it.

A release is the number of the highest SQL file. Each file runs as one string, hence in one transaction, together with
the row that records it: a file that fails leaves the release before it whole. Nothing here talks to a database.
"""

import enum
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pepsi.db.statement import Statement, named
from pepsi.errors import SchemaError

SQL = Path(__file__).with_name("sql")

_RECORD = """;
INSERT INTO pepsi.schema_release (release, file, digest) VALUES (%(release)s, %(file)s, %(digest)s)"""
_NUMBERED = re.compile(r"([0-9]{4})_[a-z0-9_]+\.sql")


@dataclass(frozen=True, slots=True)
class SqlFile:
    """One numbered file: running it on release *number* - 1 makes release *number*."""

    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def statement(self) -> Statement:
        """The file and its record. Run outside of any transaction it is one."""
        return Statement(
            self.text.replace("%", "%%") + _RECORD,
            {"release": self.number, "file": self.name, "digest": self.digest},
        )


class Verdict(enum.Enum):
    """How the schema of the database compares with ours."""

    CURRENT = "current"
    MISSING = "missing"
    OLDER = "older"
    NEWER = "newer"
    ALTERED = "altered"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaState:
    """What stands in the database. *altered* names the first file that is not the one that was run there."""

    verdict: Verdict
    release: int
    shipped: int
    altered: str = ""

    def __str__(self) -> str:
        """One sentence that names what stands there and, where something is amiss, the command that mends it."""
        match self.verdict:
            case Verdict.CURRENT:
                return f"the database holds release {self.release} of the schema, which is this Pepsi's"
            case Verdict.MISSING:
                return "the database holds no schema of Pepsi; 'pepsi-setup schema install' makes it"
            case Verdict.OLDER:
                return (
                    f"the database holds release {self.release} of the schema, older than this Pepsi's {self.shipped}; "
                    "'pepsi-setup schema upgrade' brings it up to date"
                )
            case Verdict.NEWER:
                return (
                    f"the database holds release {self.release} of the schema, newer than this Pepsi's {self.shipped}; "
                    "install the newer Pepsi that made it"
                )
            case Verdict.ALTERED:
                return (
                    f"the schema of the database was made by another version of {self.altered} than this Pepsi ships; "
                    "install the Pepsi that made it, or, to begin again with an empty queue, run "
                    "'pepsi-setup schema drop' and then 'pepsi-setup schema install'"
                )


def shipped(directory: Path = SQL) -> tuple[SqlFile, ...]:
    """Return the numbered files of *directory* in order. Raises SchemaError when a number is missing or given twice."""
    files = tuple(
        SqlFile(int(found[1]), path.name, path.read_text("utf-8"))
        for path in sorted(directory.glob("*.sql"))
        if (found := _NUMBERED.fullmatch(path.name))
    )
    for expected, file in enumerate(files, 1):
        if file.number != expected:
            raise SchemaError(f"{directory}: expected a file numbered {expected:04}, found {file.name}")
    if not files:
        raise SchemaError(f"{directory} holds no SQL files; install Pepsi again")
    return files


def present() -> Statement:
    """Return the statement that says, in one boolean, whether there is a record to read. It never fails."""
    return named("schema_present")


def recorded() -> Statement:
    """Return the statement that reads the record, for ``verdict``. Run it only when ``present`` said true."""
    return named("schema_recorded")


def verdict(rows: Sequence[tuple[int, str]], files: Sequence[SqlFile]) -> SchemaState:
    """Judge what ``recorded`` returned (no rows when there was nothing to read) against *files*."""
    digests: dict[int, str] = dict(rows)
    release, ours = max(digests, default=0), files[-1].number
    altered = next((f.name for f in files if f.number <= release and digests.get(f.number) != f.digest), "")
    if not release:
        found = Verdict.MISSING
    elif altered:
        found = Verdict.ALTERED
    elif release != ours:
        found = Verdict.OLDER if release < ours else Verdict.NEWER
    else:
        found = Verdict.CURRENT
    return SchemaState(verdict=found, release=release, shipped=ours, altered=altered)


def require(state: SchemaState) -> None:
    """Raise SchemaError unless *state* is the schema that this Pepsi was written for."""
    if state.verdict is not Verdict.CURRENT:
        raise SchemaError(str(state))


def steps(state: SchemaState, files: Sequence[SqlFile]) -> tuple[SqlFile, ...]:
    """Return the files that are still to be run, in order. Raises SchemaError when no file leads from there to here."""
    if state.verdict in (Verdict.NEWER, Verdict.ALTERED):
        raise SchemaError(str(state))
    return tuple(file for file in files if file.number > state.release)


def drop() -> Statement:
    """Return the statement that removes the schema and every message in it."""
    return named("schema_drop")


def roles(directory: Path = SQL) -> Statement:
    """Return the statement that makes the roles and grants them what each needs. It can be run again and again."""
    return Statement((directory / "roles.sql").read_text("utf-8"))
