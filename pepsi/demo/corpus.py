"""Finds mail that others wrote, for the demo and for tests. Nothing of it is shipped with Pepsi."""

import mailbox
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from pepsi.relay.letter import in_crlf_form


@dataclass(frozen=True, slots=True)
class Mail:
    """One message in CRLF form, as a client would send it. *name* tells where it came from."""

    name: str
    message: bytes


def of_python() -> tuple[Mail, ...]:
    """Return the messages that Python's own tests of its mail package use. Some distributions leave them out."""
    return in_folder(Path(sysconfig.get_path("stdlib"), "test/test_email/data"), "msg_*.txt")


def in_folder(folder: Path, pattern: str = "*.eml") -> tuple[Mail, ...]:
    """Return the messages in the files of *folder* that match; none if there is no such folder."""
    return tuple(
        Mail(path.stem, in_crlf_form(path.read_bytes())) for path in sorted(folder.glob(pattern)) if _fit(path)
    )


def in_mbox(path: Path) -> tuple[Mail, ...]:
    """Return the messages in the mbox file at *path*."""
    box = mailbox.mbox(path, create=False)
    try:
        return tuple(Mail(f"{path.name}-{key}", in_crlf_form(box.get_bytes(key))) for key in box.iterkeys())
    finally:
        box.close()


def _fit(path: Path) -> bool:
    # Not mail, or mail that SMTP cannot carry at all (RFC 5321, section 2.3.8).
    return path.is_file() and b"\0" not in path.read_bytes()
