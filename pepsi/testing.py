"""For the tests of a stage: a message, a run without a database, and what should have come of it.

from pepsi.testing import assert_advances, message, run

def test_a_large_message_goes_aside() -> None:
    outcome = run(Sort, message("Subject: hello", body="x" * 5000), LIMIT="1 kB", NEXT_STAGE="inbox")
    assert_advances(outcome, to="aside")
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from pepsi.model.message import Message
from pepsi.model.outcome import Advance, Changes, Fail, Finish, Outcome, Pause, Requeue
from pepsi.stages.api import Stage
from pepsi.worker.picture import changed
from pepsi.worker.rehearsal import message_of, rehearse
from pepsi.worker.section import options_alone

__all__ = [
    "assert_advances",
    "assert_fails",
    "assert_finishes",
    "assert_pauses",
    "assert_requeues",
    "changed",
    "message",
    "run",
]

T = TypeVar("T")


def message(
    *header: str,
    body: str | bytes = "body\n",
    stage: str = "stage",
    mail_from: str = "anna@example.org",
    recipients: tuple[str, ...] = ("bob@example.net",),
    state: Mapping[str, Any] | None = None,
    age: float = 0.0,
    peer: str | None = None,
    auth_login: str | None = None,
) -> Message:
    """Return a message whose header block is the lines *header*, a Subject if none are given.

    *stage* is the name of the section that it is at, *age* its seconds since the arrival.
    """
    block = "".join(f"{line}\n" for line in header or ("Subject: hello",)).encode()
    return message_of(
        block + b"\n" + (body.encode() if isinstance(body, str) else body),
        stage=stage,
        mail_from=mail_from,
        recipients=recipients,
        state=state or {},
        age=age,
        peer=peer,
        auth_login=auth_login,
    )


def run(stage: type[Stage[Any]], message: Message, /, **keys: str) -> Outcome:
    """Return what *stage* decides about *message*. *keys* are those of its section, as they stand in a file.

    Refuse and TryLater become the outcome that the worker makes of them; a wait has no jitter. Raises ConfigError for
    keys that are wrong, whatever else the stage raises, and StageError for an outcome that could not be written.
    """
    return rehearse(stage, options_alone(stage, keys), message, chance=lambda: 0.0)


def assert_advances(outcome: Outcome, *, to: str, changes: Changes | None = None) -> Advance:
    """See that the message goes on to the stage *to*, with just *changes* where these are given."""
    found = _of_kind(outcome, Advance)
    if found.stage != to:
        raise AssertionError(f"expected the message to go on to {to!r}, and it goes on to {found.stage!r}")
    if changes is not None and found.changes != changes:
        raise AssertionError(f"expected {changes}, got {found.changes}")
    return found


def assert_finishes(outcome: Outcome) -> Finish:
    """See that the message is done with."""
    return _of_kind(outcome, Finish)


def assert_pauses(outcome: Outcome, *, for_seconds: float | None = None, because: str = "") -> Pause:
    """See that the message waits: for so long, where that is given, and with *because* in the reason."""
    found = _of_kind(outcome, Pause)
    if for_seconds is not None and found.delay != for_seconds:
        raise AssertionError(f"expected a wait of {for_seconds} s, got {found.delay} s")
    _reason(found.reason, because)
    return found


def assert_requeues(outcome: Outcome) -> Requeue:
    """See that the message is tried again at once."""
    return _of_kind(outcome, Requeue)


def assert_fails(outcome: Outcome, *, because: str = "") -> Fail:
    """See that the message is kept as failed, with *because* in the reason."""
    found = _of_kind(outcome, Fail)
    _reason(found.reason, because)
    return found


def _of_kind(outcome: Outcome, kind: type[T]) -> T:
    if not isinstance(outcome, kind):
        raise AssertionError(f"expected {kind.__name__}, got {outcome}")
    return outcome


def _reason(reason: str, because: str) -> None:
    if because not in reason:
        raise AssertionError(f"expected {because!r} in the reason, which is {reason!r}")
