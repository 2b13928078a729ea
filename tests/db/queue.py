"""Rows of the queue for tests: made, claimed as the dispatcher would, and looked at."""

import json
from typing import Any

from pepsi.model import claim
from tests.support_database import Database

EPOCH = 7
TOKEN = claim.pack(EPOCH, 1)


class Queue:
    """The queue of one database, by hand."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, stage: str = "a", message: bytes = b"Subject: s\r\n\r\nbody", **given: Any) -> int:
        """Put one message in and return its id."""
        values = {"mail_from": "s@example.org", "recipients": ["r@example.net"], "state": {}, **given}
        number: int = self.database.value(
            "SELECT pepsi.workqueue_inject(stage => %(stage)s, mail_from => %(mail_from)s, "
            "recipients => %(recipients)s::text[], message => %(message)s, header_from => 'f', subject => 's', "
            "state => %(state)s::jsonb, peer => %(peer)s, auth_login => %(auth_login)s)",
            **{"peer": None, "auth_login": None, **values, "state": json.dumps(values["state"])},
            stage=stage,
            message=message,
        )
        return number

    def claim(self, *ids: int, token: int = TOKEN) -> None:
        """Turn pending rows to running."""
        self.database.rows(
            "UPDATE pepsi.workqueue SET status = 'running', claim = %(token)s "
            "WHERE workqueue_id = ANY (%(ids)s) AND status = 'pending'",
            token=token,
            ids=list(ids),
        )

    def running(self, **given: Any) -> int:
        """Put one message in, claim it, and return its id."""
        number = self.add(**given)
        self.claim(number)
        return number

    def row(self, number: int) -> dict[str, Any]:
        """Return a row as a mapping of its columns, bytea as hex."""
        row: dict[str, Any] = self.database.value(
            "SELECT to_jsonb(w) FROM pepsi.workqueue w WHERE workqueue_id = %(number)s", number=number
        )
        return row

    def ids(self) -> list[int]:
        """Return the ids of all rows, in order."""
        return [number for (number,) in self.database.rows("SELECT workqueue_id FROM pepsi.workqueue ORDER BY 1")]

    def message(self, number: int) -> bytes:
        """Return a message as its next stage will see it."""
        message: memoryview = self.database.value(
            "SELECT coalesce(w.header_block, b.header_block) || b.body FROM pepsi.workqueue w "
            "JOIN pepsi.workqueue_body b USING (body_id) WHERE workqueue_id = %(number)s",
            number=number,
        )
        return bytes(message)

    def bodies(self) -> int:
        """Return how many bodies there are."""
        count: int = self.database.value("SELECT count(*) FROM pepsi.workqueue_body")
        return count
