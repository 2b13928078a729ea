"""The password file: a login and the argon2id hash of its password on each line, with a colon between them."""

import contextlib
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pepsi.config.secrets import read_secret
from pepsi.errors import IngressError

LOGIN_LIMIT = 255
NEW_MODE = 0o640

_HEADING = b"# login:hash, written by pepsi-ingress passwd"
_SCHEME = "$argon2id$"
HASHER = PasswordHasher()
"""The parameters of RFC 9106 for a machine with little memory to spare: 64 MiB and some 50 ms a hash."""


class PasswordFile:
    """The password file *name*: a file, or a systemd credential. Read anew for each look: a change counts at once."""

    def __init__(self, name: str, environ: Mapping[str, str], hasher: PasswordHasher = HASHER) -> None:
        self._name = name
        self._environ = environ
        self._hasher = hasher
        self._decoy = hasher.hash(secrets.token_urlsafe())

    def is_right(self, login: str, password: str) -> bool:
        """Whether *password* is that of *login*. Takes long on purpose, and as long for a login that does not exist.

        Raises OSError or SecretError if the file cannot be read or used.
        """
        known = hashes_of(read_secret(self._name, self._environ)).get(login, "")
        usable = known.startswith(_SCHEME)
        try:
            self._hasher.verify(known if usable else self._decoy, password)
        except (VerificationError, InvalidHashError):
            return False
        return usable


def hashes_of(content: bytes) -> dict[str, str]:
    """Return the hash of each login in *content*. Empty lines, comments (``#``) and lines without a colon are none."""
    hashes = {}
    for line in content.decode("utf-8", "replace").splitlines():
        login, colon, hashed = line.strip().partition(":")
        if colon and not login.startswith("#"):
            hashes[login] = hashed
    return hashes


def set_password(path: Path, login: str, password: str | None, hasher: PasswordHasher = HASHER) -> None:
    """Give *login* a new password in the file at *path*, which is made if need be; None removes the login.

    Readers see the old file or the new one. Raises IngressError if *login* or *password* cannot be used, OSError if the
    file cannot be written.
    """
    if not login or ":" in login or login.startswith("#") or not login.isprintable() or login != login.strip():
        raise IngressError(f"{login!r} is no login: printable characters, not a colon, no space at the ends")
    if len(login.encode()) > LOGIN_LIMIT:
        raise IngressError(f"a login has at most {LOGIN_LIMIT} bytes")
    if password is not None and (not password or "\0" in password):
        raise IngressError("a password must have at least one character, and no NUL")
    with _locked(path.parent):
        lines = path.read_bytes().splitlines() if path.exists() else [_HEADING]
        kept = [line for line in lines if line.partition(b":")[0].strip() != login.encode()]
        if password is None and len(kept) == len(lines):
            raise IngressError(f"{path}: there is no login {login}")
        if password is not None:
            kept.append(f"{login}:{hasher.hash(password)}".encode())
        _replace(path, b"".join(line + b"\n" for line in kept))


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    # The directory, not the file: the file is replaced, and a lock on the old one would keep nobody out.
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(path: Path, content: bytes) -> None:
    """Put *content* in the place of the file at *path*, and leave owner, group and mode as they were.

    A new file belongs to the group of its directory, which is how the service is let in.
    """
    model = path.stat() if path.exists() else None
    mode = NEW_MODE if model is None else stat.S_IMODE(model.st_mode)
    owner, group = (-1, path.parent.stat().st_gid) if model is None else (model.st_uid, model.st_gid)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
            file.flush()
            with contextlib.suppress(PermissionError):
                os.fchown(file.fileno(), owner, group)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
