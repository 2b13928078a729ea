"""What /proc says of processes, and how they are made to go away."""

import os
import signal
from contextlib import suppress
from pathlib import Path

_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def children(parent: int) -> list[int]:
    """Return the process ids of the living children of *parent*."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(*_GONE):
            text = status.read_text()
            if f"\nPPid:\t{parent}\n" in text and "\nState:\tZ" not in text:
                found.append(int(status.parent.name))
    return found


def of_run(directory: Path) -> list[int]:
    """Return the living processes, other than this one, that were started for the run in *directory*.

    Told by their command line or environment; PostgreSQL's own, which has neither, is none of them.
    """
    mark = os.fsencode(directory)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        with suppress(*_GONE):
            words = (entry / "cmdline").read_bytes()
            if pid != os.getpid() and mark in words + (entry / "environ").read_bytes() and b"-D\0" not in words:
                found.append(pid)
    return found


def stage_of(pid: int) -> str | None:
    """Return the stage that worker *pid* works for; None if it is none, or gone."""
    with suppress(*_GONE):
        for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if word.startswith(b"PEPSI_STAGE="):
                return word.partition(b"=")[2].decode()
    return None


def descriptors(pid: int) -> int:
    """Return how many descriptors *pid* has open. Raises OSError."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - the names are all that is wanted


def resident(pid: int) -> int:
    """Return the resident memory of *pid* in bytes. Raises OSError."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal; return whether there was somebody to receive it."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def end(pid: int) -> None:
    """Kill *pid*, suspended or not."""
    send(pid, signal.SIGKILL)


def told(pid: int) -> str:
    """Return the command line of *pid* for a message."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except _GONE:
        return "gone"
