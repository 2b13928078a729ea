"""The statements by which a dispatcher makes sure that it is the only one, and sets right what another one left."""

from collections.abc import Sequence
from typing import Any

from pepsi.db.session import DISPATCHER_LOCK
from pepsi.db.statement import Statement, named
from pepsi.model import claim
from pepsi.model.text import visible
from pepsi.sched.held import Held

_CLASS, _OBJECT = DISPATCHER_LOCK


def same_backend() -> Statement:
    """Ask for the process id of the server's end."""
    return named("same_backend")


def try_lock() -> Statement:
    """Take the dispatcher's lock if it is free; returns whether it was."""
    return named("try_lock", **{"class": _CLASS, "object": _OBJECT})


def lock_holder() -> Statement:
    """Ask who holds the lock: process id, client, since when, application name."""
    return named("lock_holder", **{"class": _CLASS, "object": _OBJECT})


def own_session() -> Statement:
    """Ask for this session's process id at the server, and when it began."""
    return named("own_session")


def end_former_session(pid: int, since: str) -> Statement:
    """End the session that ``own_session`` described so, if it holds the dispatcher's lock."""
    return named("end_former_session", pid=pid, since=since, **{"class": _CLASS, "object": _OBJECT})


def holder_of(rows: Sequence[tuple[Any, ...]]) -> str:
    """Return in words what ``lock_holder`` found: "held by ...", or "free again"."""
    if not rows:
        return "free again"
    pid, client, since, name = rows[0]
    if pid is None:
        return "held by a session that this role may not see"
    who = f"held by {visible(name) or 'a session'}, server process {pid}"
    # A role that is not the holder's may not know the rest.
    return who if since is None else f"{who}, from {client}, since {since}"


def raise_epoch() -> Statement:
    """Begin a new epoch, durably; returns its number, and nothing if this session does not hold the lock."""
    return named("raise_epoch", **{"class": _CLASS, "object": _OBJECT})


def present_epoch() -> Statement:
    """Ask for the number of the epoch."""
    return named("present_epoch")


def reassert_claims(held: Sequence[Held]) -> Statement:
    """Claim *held* again where a crash of the server has un-done that; returns the ids."""
    ids, claims, stages = _columns(held)
    return named("reassert_claims", ids=ids, claims=claims, stages=stages)


def return_strangers(epoch: int, held: Sequence[Held]) -> Statement:
    """Give back what runs under *epoch* but is not in *held*; returns the ids."""
    ids, claims, _ = _columns(held)
    return named(
        "return_strangers", first=claim.pack(epoch, 0), beyond=claim.pack(epoch + 1, 0), ids=ids, claims=claims
    )


def former_workers() -> Statement:
    """Ask for database sessions of workers from before this epoch: (pid, application name)."""
    return named("former_workers")


def end_former_workers() -> Statement:
    """Terminate these sessions."""
    return named("end_former_workers")


def return_former(epoch: int) -> Statement:
    """Give back up to a thousand rows that were left running by epochs before *epoch*; returns the ids."""
    return named("return_former", first=claim.pack(epoch, 0))


def former_left(epoch: int) -> Statement:
    """Ask whether such rows are left, which somebody else has locked."""
    return named("former_left", first=claim.pack(epoch, 0))


def _columns(held: Sequence[Held]) -> tuple[list[int], list[int], list[str]]:
    return [one.workqueue_id for one in held], [one.claim for one in held], [one.stage for one in held]
