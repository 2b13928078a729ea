"""``pepsi-settings set`` and ``unset``."""

import argparse

from pepsi.db import settings
from pepsi.tools.desk.command import Command, Desk, QueueError, declare_report, report, stage_name
from pepsi.tools.settings.stages import known, refuse_unfit
from pepsi.tools.settings.words import correspondent, key_name, new_value
from pepsi.worker.layers import NEVER


def declare_place(parser: argparse.ArgumentParser) -> None:
    """Add the words that say whose setting, and at which stage."""
    parser.add_argument(
        "address", metavar="ADDRESS", type=correspondent, help="user@example.org, @example.org, or * for everybody"
    )
    parser.add_argument("stage", metavar="STAGE", type=stage_name, help="the stage whose section has the key")


def declare_set(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``set``."""
    declare_place(parser)
    parser.add_argument("key", metavar="KEY", type=key_name, help="a key of that stage")
    parser.add_argument("value", metavar="VALUE", type=new_value, help="its value, as it would stand in the file")
    parser.add_argument("--force", action="store_true", help="even if it is not known which keys the stage has")
    declare_report(parser)


def declare_unset(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unset``."""
    declare_place(parser)
    parser.add_argument("key", metavar="KEY", type=key_name, help="a key of that stage")
    declare_report(parser)


async def run_set(desk: Desk, arguments: argparse.Namespace) -> None:
    """Set it. Raises QueueError if the stage would not take it."""
    address, stage, key, value = arguments.address, arguments.stage, arguments.key, arguments.value
    if key in NEVER:
        raise QueueError(f"{key} is of the stage and its workers, and is set for nobody alone")
    found = await known(desk, stage)
    refuse_unfit(found, stage, key, value, force=arguments.force)
    ((former,),) = await desk.ask(settings.put(address, stage, key, value))
    sentence = f"{key} is set for {address} at stage {stage}"
    if former is not None:
        sentence += ", as it was" if former == value else "; it was set before"
    report(desk, arguments, sentence, address=address, stage=stage, key=key, value=value, former_value=former)


async def run_unset(desk: Desk, arguments: argparse.Namespace) -> None:
    """Forget it. Raises QueueError if it was not set."""
    address, stage, key = arguments.address, arguments.stage, arguments.key
    rows = await desk.ask(settings.remove(address, stage, key))
    if not rows:
        raise QueueError(f"{key} is not set for {address} at stage {stage}")
    sentence = f"{key} is no longer set for {address} at stage {stage}"
    report(desk, arguments, sentence, address=address, stage=stage, key=key, former_value=rows[0][0])


SET = Command("set", "set a key of a stage for an address, a domain or everybody", declare_set, run_set)
UNSET = Command("unset", "let a key be as it was before it was set", declare_unset, run_unset)
