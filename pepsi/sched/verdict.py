"""What an answer means for the row. Success means nothing: the worker has written it all."""

from pepsi.model import row, status
from pepsi.model.row import FailureClass, RowStatus
from pepsi.model.status import Status
from pepsi.model.text import one_line
from pepsi.sched.commands import Settlement
from pepsi.sched.held import Held

LOST_DATABASE_PAUSE = 30.0
"""Seconds that a message waits whose worker lost its database connection."""


def settlement(held: Held, answer: Status, *, spread: float) -> Settlement | None:
    """Return the write that *answer* calls for, None for a success.

    *spread* from 0 to 1 lengthens a pause by up to a fifth.
    """
    match answer.code:
        case status.OK:
            return None
        case status.IO_ERROR:
            return Settlement(
                workqueue_id=held.workqueue_id,
                claim=held.claim,
                status=RowStatus.PAUSED,
                delay=LOST_DATABASE_PAUSE * (1 + 0.2 * spread),
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


def requeue(held: Held) -> Settlement:
    """Return the write that gives a row back as if it had never been claimed."""
    return Settlement(workqueue_id=held.workqueue_id, claim=held.claim, status=RowStatus.PENDING)
