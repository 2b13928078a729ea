"""Reads secrets: passwords and keys, which stand in files of their own and never in the configuration."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from pepsi.errors import SecretError

CREDENTIALS = "CREDENTIALS_DIRECTORY"
LIMIT = 2**20
"""Bytes of the largest secret that is read."""


def read_secret(name: str, environ: Mapping[str, str]) -> bytes:
    """Return the content of the secret *name*, byte for byte.

    With a slash in it *name* is a file; without one, a systemd credential: a file in $CREDENTIALS_DIRECTORY.
    Raises SecretError if it must not be used; OSError if it cannot be read, which can be worth another try later.
    """
    path = secret_path(name, environ)
    with open(path, "rb", opener=_open_without_waiting) as file:
        # Asked of the open file: asked of the name, the answer could be about another file.
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise SecretError(f"{path}: a secret must be a regular file")
        if found.st_mode & (stat.S_IROTH | stat.S_IWOTH):
            raise SecretError(
                f"{path}: everybody on this machine can read or change this secret (mode {found.st_mode & 0o777:04o}); "
                f"take it away from them: chmod o= {path}"
            )
        content = file.read(LIMIT + 1)
    if len(content) > LIMIT:
        raise SecretError(f"{path}: a secret has at most {LIMIT} bytes")
    if not content:
        raise SecretError(f"{path}: this secret is empty")
    return content


def read_password(name: str, environ: Mapping[str, str]) -> str:
    """Return the one line of text that the secret *name* is, without its end of line. As `read_secret`."""
    content = read_secret(name, environ)
    path = secret_path(name, environ)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise SecretError(f"{path}: this secret is not UTF-8 text") from None
    line = text.removesuffix("\n").removesuffix("\r")
    if not line or not line.isprintable():
        raise SecretError(f"{path}: this secret must be one line of printable text")
    return line


def _open_without_waiting(path: str, flags: int) -> int:
    # A pipe would be waited for otherwise, before anything could be asked about it.
    return os.open(path, flags | os.O_NONBLOCK)


def secret_path(name: str, environ: Mapping[str, str]) -> Path:
    """Return the file that the secret *name* is in, for libraries that read it themselves. Raises SecretError.

    `read_secret` it first: only that looks at who else can read it.
    """
    if "/" in name:
        return Path(name)
    directory = environ.get(CREDENTIALS)
    if name in ("", ".", ".."):
        raise SecretError(f"{name!r} is neither a file nor a credential")
    if not directory:
        raise SecretError(
            f"{name} is the name of a systemd credential, but ${CREDENTIALS} is not set; for a file write ./{name}"
        )
    return Path(directory, name)
