"""``pepsi-queue delete``: a message is gone for good."""

import argparse

from pepsi.db import queue
from pepsi.model.row import RowStatus
from pepsi.tools.desk.command import Command, Desk, declare_report, message_id, no_such_message, report


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("id", metavar="WORKQUEUE_ID", type=message_id, help="the message")
    declare_report(parser)


async def run(desk: Desk, arguments: argparse.Namespace) -> None:
    """Delete it. Raises QueueError if it is not there."""
    rows = await desk.ask(queue.delete(arguments.id))
    if not rows:
        raise no_such_message(arguments.id)
    stage, status, *_ = rows[0]
    sentence = f"deleted message {arguments.id}, which was {status} at stage {stage}"
    if status == RowStatus.RUNNING:
        sentence += "; what its worker is doing right now may still be done"
    report(desk, arguments, sentence, workqueue_id=arguments.id, stage=stage, status=status)


COMMAND = Command("delete", "delete a message for good", declare, run)
