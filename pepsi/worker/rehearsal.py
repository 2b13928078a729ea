"""A stage run on a made-up message, without a database: for ``try`` and for the tests of stages."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pepsi.config.options import StageOptions
from pepsi.db import messages
from pepsi.model.envelope import split_message
from pepsi.model.headers import shown_field
from pepsi.model.message import Message, Need
from pepsi.model.outcome import Outcome
from pepsi.stages.api import Refuse, Stage, TryLater
from pepsi.worker.failures import decide


def message_of(
    data: bytes,
    *,
    stage: str,
    mail_from: str,
    recipients: tuple[str, ...],
    state: Mapping[str, Any],
    age: float = 0.0,
    peer: str | None = None,
    auth_login: str | None = None,
) -> Message:
    """Return the message *data*, as it would be loaded. Its lines may end in any way; they are made to end in CRLF."""
    whole = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n")
    header_block, body = split_message(whole)
    return Message(
        workqueue_id=1,
        claim=1,
        stage=stage,
        received_at=datetime.now(UTC),
        age=age,
        mail_from=mail_from,
        recipients=recipients,
        header_from=shown_field(header_block, b"From"),
        subject=shown_field(header_block, b"Subject"),
        peer=peer,
        auth_login=auth_login,
        size=len(whole),
        state=state,
        header_block=header_block,
        body=body,
    )


def rehearse(stage: type[Stage[Any]], options: StageOptions, message: Message, chance: Callable[[], float]) -> Outcome:
    """Return what would become of *message*.

    The stage sees no more of it than it asked for. Refuse and TryLater are outcomes; all else that the stage raises is
    raised. Raises StageError for an outcome that could not be written.
    """
    made = stage()
    made.open(options)
    seen = replace(
        message,
        header_block=message.header_block if stage.needs >= Need.HEADERS else None,
        body=message.body if stage.needs >= Need.BODY else None,
    )
    try:
        outcome = made.process(seen, options)
    except (Refuse, TryLater) as error:
        outcome = decide(error, seen, options, chance).outcome
    finally:
        made.close()
    messages.write(seen, outcome)
    return outcome
