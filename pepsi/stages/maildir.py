"""Putting files into Maildirs so that neither a crash nor a symbolic link can do harm."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

_LOOK = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_STEP = _LOOK | os.O_NOFOLLOW
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NoMailbox(Exception):
    """There is no such mailbox, and none was to be made."""


@contextlib.contextmanager
def mailbox(base: Path, parts: Sequence[str], *, create: bool) -> Iterator[int]:
    """Open the directory that *parts* lead to below *base*, and close it at the end of the block.

    *base* must exist and may be a symbolic link; nothing below it may. Raises NoMailbox if a directory is missing and
    *create* is false, OSError for all else that is in the way.
    """
    current = os.open(base, _LOOK)
    try:
        for part in parts:
            following = _step(current, part, create=create)
            os.close(current)
            current = following
        yield current
    finally:
        os.close(current)


def store(directory: int, name: str, attempt: str, data: bytes, *, again: bool) -> None:
    """Put *data* as the new message *name* into the Maildir that *directory* is open on; it is on the disk afterwards.

    Does nothing if the message is there already; with *again*, also where a reader has moved it to. *attempt* is
    different each time, so that two attempts, one of them thought dead, never write to one file. Raises OSError.
    """
    with _sub(directory, "tmp") as tmp, _sub(directory, "new") as new, _sub(directory, "cur") as cur:
        if _is_there(new, name) or (again and _was_seen(cur, name)):
            os.fsync(new)  # the one who put it there may have died before
            return
        unfinished = f"{name}.{attempt}"
        try:
            _write(tmp, unfinished, data)
            # A rename and not a link: should the same message come twice after all, one takes the other's place.
            os.rename(unfinished, name, src_dir_fd=tmp, dst_dir_fd=new)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished, dir_fd=tmp)
            raise
        os.fsync(new)


def _write(directory: int, name: str, data: bytes) -> None:
    with os.fdopen(os.open(name, _MAKE, 0o600, dir_fd=directory), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _sub(directory: int, name: str) -> Iterator[int]:
    opened = _step(directory, name, create=True)
    try:
        yield opened
    finally:
        os.close(opened)


def _step(directory: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _STEP, dir_fd=directory)
    except FileNotFoundError:
        if not create:
            raise NoMailbox(name) from None
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=directory)
    os.fsync(directory)
    return os.open(name, _STEP, dir_fd=directory)


def _is_there(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _was_seen(directory: int, name: str) -> bool:
    # A reader adds its flags after a colon and otherwise leaves the name alone.
    with os.scandir(directory) as entries:
        return any(entry.name.partition(":")[0] == name for entry in entries)
