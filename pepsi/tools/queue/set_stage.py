"""``pepsi-queue set-stage``: a message goes on somewhere else."""

import argparse

from pepsi.config.section import nearest
from pepsi.db import queue
from pepsi.tools.desk.command import (
    Command,
    Desk,
    QueueError,
    declare_report,
    message_id,
    no_such_message,
    report,
    stage_name,
)
from pepsi.tools.desk.stages import known_stages


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("id", metavar="WORKQUEUE_ID", type=message_id, help="the message")
    parser.add_argument("stage", metavar="STAGE", type=stage_name, help="the stage that is to run next")
    parser.add_argument("--force", action="store_true", help="even if there is no section for that stage")
    declare_report(parser)


async def run(desk: Desk, arguments: argparse.Namespace) -> None:
    """Let it be pending there. Raises QueueError if there is no such message or, unforced, no such stage."""
    await _refuse_unknown(desk, arguments.stage, force=arguments.force)
    rows = await desk.ask(queue.set_stage(arguments.id, arguments.stage))
    if not rows:
        raise no_such_message(arguments.id)
    stage, status, *_ = rows[0]
    report(
        desk,
        arguments,
        f"message {arguments.id} is pending at stage {arguments.stage}; it was {status} at stage {stage}",
        workqueue_id=arguments.id,
        stage=arguments.stage,
        status="pending",
        former_stage=stage,
        former_status=status,
    )


async def _refuse_unknown(desk: Desk, stage: str, *, force: bool) -> None:
    if force or stage in desk.access.stages:
        return
    known, complete = await known_stages(desk)
    if stage in known:
        return
    if not complete:
        desk.warn(f"not all sections could be read, and none that could is [stage-{stage}]")
        return
    hint = nearest(stage, known)
    raise QueueError(
        f"there is no section [stage-{stage}], so nobody would take the message there{f'; {hint}' if hint else ''} "
        "(--force sends it there all the same)"
    )


COMMAND = Command("set-stage", "let a message be pending at a stage, whatever its status", declare, run)
