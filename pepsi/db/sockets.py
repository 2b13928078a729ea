"""The directory of the private server's socket: for one state directory always the same one, and private."""

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from pepsi.db.account import Account, give
from pepsi.db.cluster import PORT
from pepsi.errors import DatabaseError

_LIMIT = 107
"""Bytes of the longest path that a socket can have."""
_SHARED = Path("/tmp")
"""Not what TMPDIR says, which may be another place in the next process."""


def socket_directory(home: Path) -> Path:
    """Return where the socket of the server in *home* lies.

    It is in /tmp where libpq could not be told of a socket in *home*. The name follows from *home*: sessions keep
    the address that they were given, and must find there the server of whoever takes it over.
    """
    home = home.resolve()
    inside = home / "run"
    # libpq takes a comma for the end of a host.
    if "," not in str(inside) and len(os.fsencode(inside / f".s.PGSQL.{PORT}")) <= _LIMIT:
        return inside
    return _SHARED / f"pepsi-{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}"


def make_private(directory: Path, account: Account) -> None:
    """Make *directory* for *account* alone. Raises DatabaseError if somebody else has made it."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
        if directory.parent == _SHARED:
            _refuse_foreign(directory, status, account)
        # Not when it is the account's own: the account could put a link in its place, and we may be root.
        if directory.parent != _SHARED or status.st_uid != account.uid:
            give(directory, account)
    except OSError as error:
        raise DatabaseError(f"{directory}, for the socket of the private server: {error.strerror}") from None


def unmake(directory: Path) -> None:
    """Remove *directory* if it lies among those of others, and the server left nothing in it."""
    if directory.parent == _SHARED:
        with contextlib.suppress(OSError):
            directory.rmdir()


def _refuse_foreign(directory: Path, status: os.stat_result, account: Account) -> None:
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (os.geteuid(), account.uid) or status.st_mode & 0o077:
        raise DatabaseError(
            f"{directory}, where the socket of the private server is to lie, is somebody else's or open to others: "
            "remove it, or set [pepsi] STATE_DIRECTORY to a shorter path without commas"
        )
