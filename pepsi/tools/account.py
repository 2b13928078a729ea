"""Going on as the service account when root has started a tool: nothing that a sender wrote is then handled by root."""

import os
import pwd
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from pepsi.errors import PepsiError

SERVICE = "pepsi"
"""The account that Pepsi's services run as where they were installed as such."""

_ROOTS_OWN = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "MAIL")
"""Variables that lead into root's directories."""


class AccountError(PepsiError):
    """Root could not go on as another account."""


@dataclass(frozen=True, slots=True)
class Successor:
    """The account that root goes on as. *groups* are those of the account, and *gid* is one of them."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def successor(name: str, private_data: Path | None = None) -> Successor | None:
    """Return the account called *name*, or the owner of the directory *private_data* if that is given.

    A private server lets in nobody but the account that it runs as. None if there is no such account, or it is root:
    then there is nobody to go on as, and everything of Pepsi on this machine is run by root.
    """
    try:
        if private_data is None:
            return _of(pwd.getpwnam(name))
        status = private_data.stat()
    except (KeyError, FileNotFoundError):
        return None
    if status.st_uid == 0:
        return None
    try:
        return _of(pwd.getpwuid(status.st_uid))
    except KeyError:
        return Successor(str(status.st_uid), status.st_uid, status.st_gid, (status.st_gid,), "/")


def become(account: Successor, environ: MutableMapping[str, str] = os.environ) -> None:
    """Go on as *account*, for good, with its groups and no others, its home, and files that are private to it.

    Raises AccountError. What is still to be imported must be within the reach of *account*.
    """
    try:
        # In this order: once the user is another one, the groups cannot be changed any more.
        os.setgroups(account.groups)
        os.setresgid(account.gid, account.gid, account.gid)
        os.setresuid(account.uid, account.uid, account.uid)
    except OSError as error:
        raise AccountError(
            f"root cannot go on as {account.name}: {error.strerror}; start this as {account.name} (runuser -u "
            f"{account.name} -- pepsi-queue ...)"
        ) from error
    os.umask(0o077)
    os.chdir("/")
    environ.update(HOME=account.home, USER=account.name, LOGNAME=account.name)
    for variable in _ROOTS_OWN:
        environ.pop(variable, None)


def _of(entry: pwd.struct_passwd) -> Successor | None:
    if entry.pw_uid == 0:
        return None
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Successor(entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir)
