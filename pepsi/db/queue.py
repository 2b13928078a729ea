"""The statements of an operator who looks at the queue and repairs it.

What changes a row takes its claim away: a late write of its worker then hits nothing (I3). It is told on both channels
that rows were moved by hand.
"""

from collections.abc import Sequence

from pepsi.db.statement import Statement, named
from pepsi.model.row import RowStatus


def page(
    *,
    after: int,
    limit: int,
    workqueue_id: int | None = None,
    stage: str | None = None,
    status: RowStatus | None = None,
    state_limit: int | None = None,
) -> Statement:
    """Ask for up to *limit* messages with greater ids than *after* that match all of the others, in their order.

    Rows of workqueue_id, stage, status, mail_from, subject, received_at as text, and the state as text, of which
    *state_limit* characters are enough.
    """
    return named(
        "queue_page",
        after=after,
        limit=limit,
        id=workqueue_id,
        stage=stage,
        status=status,
        state_limit=state_limit,
    )


def delete(workqueue_id: int) -> Statement:
    """Delete a message; returns the stage and the status that it had, no row if there is none."""
    return named("queue_delete", id=workqueue_id)


def set_stage(workqueue_id: int, stage: str) -> Statement:
    """Let a message be pending at *stage*; returns the stage and the status that it had, no row if there is none."""
    return named("queue_set_stage", id=workqueue_id, stage=stage)


def ids_of(status: RowStatus, *, after: int, limit: int) -> Statement:
    """Ask for the ids, in order and up to *limit*, of the messages of *status* beyond the id *after*: one array."""
    return named("queue_ids", status=status, after=after, limit=limit)


def release(status: RowStatus, ids: Sequence[int]) -> Statement:
    """Let those of *ids* be pending that have still *status*.

    Returns how many were released, how many of these had been parked, and how many were not since somebody else has
    them locked.
    """
    return named("queue_release", status=status, ids=list(ids))


def forget_nonces(since: str, limit: int) -> Statement:
    """Delete up to *limit* nonces that have expired, at *since* or later; returns how many, and the last expiry."""
    return named("queue_forget_nonces", since=since, limit=limit)


def forget_addresses(since: str, limit: int) -> Statement:
    """Delete addresses of hosts past their time to live, as ``forget_nonces`` does nonces."""
    return named("queue_forget_addresses", since=since, limit=limit)
