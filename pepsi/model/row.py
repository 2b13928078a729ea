"""The states of a row of ``pepsi.workqueue``, and the names that its ``state`` document uses."""

import enum


class RowStatus(enum.StrEnum):
    """Where a row stands. docs/ARCHITECTURE.md has the table of what leads from one to the next."""

    PENDING = "pending"  # -> running, by a claim
    RUNNING = "running"  # -> any, by its worker or its dispatcher, under the claim token
    PAUSED = "paused"  # -> pending, when due or released by hand
    FAILED = "failed"  # -> pending, by hand only
    TIMEOUT = "timeout"  # -> pending, by hand only

    @property
    def is_final(self) -> bool:
        """Whether only a person moves the row on."""
        return self in (RowStatus.FAILED, RowStatus.TIMEOUT)


class FailureClass(enum.StrEnum):
    """Why a row failed, for the bouncer and for people."""

    PERMANENT = "permanent"
    RETRIES_EXHAUSTED = "retries-exhausted"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"


LAST_ERROR = "last_error"
"""What went wrong last, for the operator's eyes only: it can name files and hosts."""
FAILED_STAGE = "failed_stage"
FAILURE_CLASS = "failure_class"
STRIKES = "strikes"
"""Crashes and hangs at the present stage; cleared by an advance."""
TEMPORARY_FAILURES = "temporary_failures"
"""Host faults at the present stage; cleared by an advance."""
INTERRUPTED = "interrupted"
"""How often a dispatcher died while the row was running at the present stage; cleared by an advance."""
MOST_INTERRUPTED = 5
"""How often a message may be interrupted at a stage before it is under suspicion."""
SUSPECT = "suspect"
"""True: a worker died that was at this message or at another one at the present stage; cleared by an advance."""
LOCAL_ORIGIN = "local_origin"
"""True for submissions and for what Pepsi made itself."""
NOTICE_BUILT_AT = "notice_built_at"
LIST_COPY = "list_copy"
SMTP = "smtp"
"""Envelope parameters as received: body, smtputf8, ret, envid and, by recipient, notify and orcpt."""
DELIVERIES = "deliveries"
"""The last answer for each recipient that is not yet done with, or failed for good."""

CLEARED_BY_ADVANCE = (STRIKES, TEMPORARY_FAILURES, INTERRUPTED, SUSPECT)
"""What a message leaves behind when it moves on to its next stage."""
