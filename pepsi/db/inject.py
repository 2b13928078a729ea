"""Putting messages in, a batch by one statement."""

import json
from collections.abc import Sequence

from pepsi.db import checked
from pepsi.db.statement import Statement, named
from pepsi.model.envelope import Arrival, split_message
from pepsi.model.headers import shown_field
from pepsi.model.text import storable


def insert(arrivals: Sequence[Arrival], stage: str) -> Statement:
    """Return the statement that puts one or more *arrivals* in at *stage*, all or none, and wakes the dispatcher once.

    It returns their workqueue ids, one a row, in the order of *arrivals*.
    """
    header_blocks, bodies = zip(*(split_message(arrival.message) for arrival in arrivals), strict=True)
    envelopes = [
        {
            "mail_from": storable(arrival.mail_from),
            "recipients": [storable(recipient) for recipient in arrival.recipients],
            "header_from": shown_field(header_block, b"From"),
            "subject": shown_field(header_block, b"Subject"),
            "peer": arrival.peer,
            "auth_login": None if arrival.auth_login is None else storable(arrival.auth_login),
            "state": checked.state(arrival.state),
        }
        for arrival, header_block in zip(arrivals, header_blocks, strict=True)
    ]
    return named(
        "inject_batch",
        stage=stage,
        envelopes=json.dumps(envelopes),
        header_blocks=list(header_blocks),
        bodies=list(bodies),
    )
