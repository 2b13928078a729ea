"""``pepsi-queue list``: what is in the queue."""

import argparse

from pepsi.config.section import nearest
from pepsi.db import queue
from pepsi.model.row import RowStatus
from pepsi.tools.desk.command import LARGEST, Command, Desk, QueueError, message_id, no_such_message, utf8
from pepsi.tools.desk.stages import known_stages
from pepsi.tools.queue.forms import Document, Form, Lines, States, Table

LIMIT = 100
PAGE = 500
"""Messages that are asked for at once: so many are in memory, however many are listed."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "id", metavar="WORKQUEUE_ID", nargs="?", type=message_id, help="this message only (by default all)"
    )
    parser.add_argument(
        "--limit", metavar="N", type=_limit, default=LIMIT, help="show up to so many messages (%(default)s)"
    )
    parser.add_argument("--stage", metavar="NAME", type=utf8, help="only messages at this stage")
    parser.add_argument("--status", choices=[str(status) for status in RowStatus], help="only messages of this status")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.add_argument("--state-only", action="store_true", help="print the whole state of each message, as JSON")


async def run(desk: Desk, arguments: argparse.Namespace) -> None:
    """List what matches, oldest first. Raises QueueError when a message of the id that was given does not."""
    form = _form(desk, arguments)
    status = RowStatus(arguments.status) if arguments.status else None
    shown = last = 0
    more = True
    while more and shown < arguments.limit:
        limit = min(PAGE, arguments.limit - shown)
        rows = await desk.ask(
            queue.page(
                after=last,
                limit=limit,
                workqueue_id=arguments.id,
                stage=arguments.stage,
                status=status,
                state_limit=form.state_limit,
            )
        )
        for line in form.rows(rows):
            desk.out.line(line)
        shown += len(rows)
        more = len(rows) == limit
        last = rows[-1][0] if rows else last
    for line in form.end():
        desk.out.line(line)
    desk.out.flush()
    if arguments.id is not None and not shown:
        raise no_such_message(arguments.id) if status is None and arguments.stage is None else _no_match(arguments)
    if arguments.stage is not None and not shown:
        await _doubt(desk, arguments.stage)
    if more and arguments.id is None and desk.out.terminal and isinstance(form, Table):
        desk.warn(f"these are the first {shown}, and there may be more: see --limit")


def _no_match(arguments: argparse.Namespace) -> QueueError:
    status = f" of status {arguments.status}" if arguments.status else ""
    stage = f" at stage {arguments.stage}" if arguments.stage is not None else ""
    return QueueError(f"there is no message {arguments.id}{status}{stage}")


async def _doubt(desk: Desk, stage: str) -> None:
    """Say so if the reason that no message was found may be that the stage was misspelt."""
    known, complete = await known_stages(desk)
    if stage not in known and complete:
        hint = nearest(stage, known)
        desk.warn(f"no message is at stage {stage}, and there is no section of that name{f'; {hint}' if hint else ''}")


def _form(desk: Desk, arguments: argparse.Namespace) -> Form:
    if arguments.json:
        return Document(states_only=arguments.state_only)
    if arguments.state_only:
        return States()
    if desk.out.terminal:
        return Table(desk.out.width, desk.out.ellipsis, colour=desk.out.colour)
    return Lines()


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= LARGEST):
        raise argparse.ArgumentTypeError(f"expected a number of messages from 1 upwards, not {text!r}")
    return int(text)


COMMAND = Command("list", "list messages, oldest first; what is done if no command is named", declare, run)
