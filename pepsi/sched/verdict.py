"""What an answer means for the row. Success means nothing: the worker has written it all."""

from collections.abc import Callable

from pepsi.model import row, status
from pepsi.model.row import FailureClass, RowStatus
from pepsi.model.status import Status
from pepsi.model.text import one_line
from pepsi.sched.backoff import jittered
from pepsi.sched.commands import Settlement
from pepsi.sched.held import Held

LOST_DATABASE_PAUSE = 30.0
"""Seconds that a message waits whose worker lost its database connection."""


def settlement(held: Held, answer: Status, *, chance: Callable[[], float]) -> Settlement | None:
    """Return the write that *answer* calls for, None for a success. *chance* lengthens a pause a little."""
    match answer.code:
        case status.OK:
            return None
        case status.IO_ERROR:
            return Settlement(
                workqueue_id=held.workqueue_id,
                claim=held.claim,
                status=RowStatus.PAUSED,
                delay=jittered(LOST_DATABASE_PAUSE, chance),
                patch={row.LAST_ERROR: answer.reason or "the worker lost its database connection"},
            )
        case status.TEMP_FAIL:
            return requeue(held)
    return Settlement(
        workqueue_id=held.workqueue_id,
        claim=held.claim,
        status=RowStatus.FAILED,
        patch={
            row.LAST_ERROR: one_line(answer.reason) or f"the stage answered {answer.code}",
            row.FAILED_STAGE: held.stage,
            row.FAILURE_CLASS: FailureClass.PERMANENT,
        },
    )


def requeue(held: Held, *, suspect: bool = False) -> Settlement:
    """Return the write that gives a row back as if it had never been claimed.

    A *suspect* is marked on the row, for only the worker knows whether it would run further stages in the same pass.
    """
    patch = {row.SUSPECT: True} if suspect else {}
    return Settlement(workqueue_id=held.workqueue_id, claim=held.claim, status=RowStatus.PENDING, patch=patch)
