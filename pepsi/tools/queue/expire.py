"""``pepsi-queue gc``: what is past its time in the tables beside the queue."""

import argparse
from collections.abc import Callable

from pepsi.db import queue
from pepsi.db.statement import Statement
from pepsi.tools.desk.command import Command, Desk, counted, declare_report, report

BATCH = 5000
"""Rows that one transaction deletes."""
_EVER = "-infinity"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    declare_report(parser)


async def run(desk: Desk, arguments: argparse.Namespace) -> None:
    """Delete what has expired."""
    nonces = await _all(desk, queue.forget_nonces, "nonces")
    addresses = await _all(desk, queue.forget_addresses, "addresses")
    sentence = f"deleted {counted(nonces, 'expired nonce')} and {counted(addresses, 'host address', 'host addresses')}"
    report(desk, arguments, f"{sentence} past their time", origin_nonce=nonces, dns_address=addresses)


async def _all(desk: Desk, delete: Callable[[str, int], Statement], what: str) -> int:
    since = _EVER
    deleted = 0
    while True:
        ((number, last),) = await desk.ask(delete(since, BATCH))
        deleted += int(number)
        if number < BATCH:
            return deleted
        since = last
        desk.progress(f"{deleted} {what} deleted")


COMMAND = Command("gc", "delete expired nonces and host addresses, for a timer", declare, run)
