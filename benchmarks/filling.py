"""Mail to measure with."""

from benchmarks.arena import Database
from pepsi.db.inject import insert
from pepsi.db.statement import Statement
from pepsi.model.envelope import Arrival

STAGE = "discard"
SENDERS = 1000
"""Domains that the mail comes from."""
BATCH = 500

_HEADER = (
    "Received: from client.example.org (client.example.org [192.0.2.1]) by mx.example.net with ESMTP;\r\n"
    "\tMon, 1 Jan 2024 00:00:00 +0000\r\nFrom: Somebody <somebody@example.org>\r\nTo: everybody@example.net\r\n"
    "Subject: Message {number}\r\nMessage-ID: <{number}@example.org>\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\n\r\n"
)
_BODY = ("All work and no play makes mail a dull thing to measure with.\r\n" * 11).encode()


def message(number: int) -> bytes:
    """Return a message of about one kilobyte."""
    return _HEADER.format(number=number).encode() + _BODY


def arrive(database: Database, count: int) -> None:
    """Put *count* messages in at the stage, as the SMTP door does: each with its own body."""
    for first in range(0, count, BATCH):
        arrivals = [
            Arrival(
                mail_from=f"somebody@d{number % SENDERS}.example.org",
                recipients=("everybody@example.net",),
                message=message(number),
            )
            for number in range(first, min(first + BATCH, count))
        ]
        database.run(insert(arrivals, STAGE))


def pile_up(database: Database, count: int, stage: str, senders: int = SENDERS) -> None:
    """Let *count* rows wait at *stage* that all share one body: quicker made, and a claim does not look at bodies."""
    database.run(
        Statement(
            "WITH shared AS (INSERT INTO pepsi.workqueue_body (header_block, body) VALUES (%(header)s, %(body)s) "
            "RETURNING body_id) "
            "INSERT INTO pepsi.workqueue (body_id, size, stage, mail_from, recipients, header_from, subject) "
            "SELECT body_id, 1024, %(stage)s, 'somebody@d' || n %% %(senders)s || '.example.org', "
            "'{everybody@example.net}', 'Somebody <somebody@example.org>', 'Message ' || n "
            "FROM shared, generate_series(1, %(count)s) n",
            {"header": _HEADER.encode(), "body": _BODY, "stage": stage, "senders": senders, "count": count},
        )
    )


def spread(database: Database, count: int, stage: str, senders: int, milliseconds: int = 0) -> None:
    """Let *count* rows of *senders* in turn wait at *stage*, each with a body of its own.

    *milliseconds* become the subject, for a stage that takes its time.
    """
    database.run(
        Statement(
            "WITH each AS (INSERT INTO pepsi.workqueue_body (header_block, body) "
            "SELECT %(header)s, %(body)s FROM generate_series(1, %(count)s) RETURNING body_id) "
            "INSERT INTO pepsi.workqueue (body_id, size, stage, mail_from, recipients, header_from, subject) "
            "SELECT body_id, 1024, %(stage)s, 'somebody@d' || body_id %% %(senders)s || '.example.org', "
            "'{everybody@example.net}', 'Somebody <somebody@example.org>', %(subject)s FROM each",
            {
                "header": _HEADER.encode(),
                "body": _BODY,
                "stage": stage,
                "senders": senders,
                "count": count,
                "subject": str(milliseconds),
            },
        )
    )
