"""Which account the private server runs as, and whether that account gets to where it must.

PostgreSQL refuses to run as root. Nothing here ever changes a directory that is not Pepsi's own.
"""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from pepsi.errors import DatabaseError

PREFERRED = ("postgres", "pepsi", "nobody")
"""The accounts that are tried when the caller is root."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account by name and numbers."""

    name: str
    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        """Whether it is the one we run as ourselves."""
        return self.uid == os.geteuid()


def choose() -> Account:
    """Return our own account, or for root the first of ``PREFERRED`` that exists. Raises DatabaseError."""
    if os.geteuid() != 0:
        return Account(str(os.geteuid()), os.geteuid(), os.getegid())
    for name in PREFERRED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise DatabaseError(
        "PostgreSQL does not run as root, and none of the accounts " + ", ".join(PREFERRED) + " exists: "
        "make one (useradd --system pepsi), or run Pepsi as an ordinary user"
    )


def give(path: Path, account: Account) -> None:
    """Make *path*, which is Pepsi's own, the account's, and private to it."""
    path.chmod(0o700)
    if not account.is_ours:
        os.chown(path, account.uid, account.gid)


def admit(account: Account, state_directory: Path) -> None:
    """Let *account* pass through *state_directory* when that is private to us, as a directory made by mktemp is.

    It is opened for the account's group alone, and to pass through only. A directory whose group has any right already
    means somebody's decision and is left as it is.
    """
    status = state_directory.stat()
    if not account.is_ours and status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        os.chown(state_directory, -1, account.gid)
        state_directory.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXGRP)


def closed_to(account: Account, directory: Path) -> Path | None:
    """Return the topmost directory on the way to *directory*, itself included, that *account* may not pass through."""
    if account.is_ours:
        return None
    resolved = directory.resolve()
    for step in (*reversed(resolved.parents), resolved):
        status = step.stat()
        if status.st_uid == account.uid:
            wanted = stat.S_IXUSR
        elif status.st_gid == account.gid:
            wanted = stat.S_IXGRP
        else:
            wanted = stat.S_IXOTH
        if not status.st_mode & wanted:
            return step
    return None
