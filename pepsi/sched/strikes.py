"""What a crash or a hang costs the message that was being worked on."""

from collections.abc import Callable

from pepsi.model import row
from pepsi.model.row import FailureClass, RowStatus
from pepsi.model.text import one_line
from pepsi.sched.backoff import jittered
from pepsi.sched.commands import Settlement
from pepsi.sched.held import Held

PAUSES = (60.0, 120.0)
"""Seconds that a message waits after its first and second strike. The third is the last."""


def strike(held: Held, why: str, *, hang: bool, chance: Callable[[], float]) -> Settlement:
    """Return the write for one more strike on *held*. *chance* lengthens its pause a little."""
    strikes = held.strikes + 1
    patch: dict[str, object] = {row.STRIKES: strikes, row.LAST_ERROR: one_line(why)}
    if strikes <= len(PAUSES):
        delay = jittered(PAUSES[strikes - 1], chance)
        return Settlement(
            workqueue_id=held.workqueue_id, claim=held.claim, status=RowStatus.PAUSED, delay=delay, patch=patch
        )
    patch[row.FAILED_STAGE] = held.stage
    patch[row.FAILURE_CLASS] = FailureClass.TIMED_OUT if hang else FailureClass.CRASHED
    return Settlement(
        workqueue_id=held.workqueue_id,
        claim=held.claim,
        status=RowStatus.TIMEOUT if hang else RowStatus.FAILED,
        patch=patch,
    )
