"""``pepsi-settings list`` and ``get``: what is set."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

from pepsi.db import settings
from pepsi.model.text import ascii_json, visible
from pepsi.tools.desk.command import Command, Desk, QueueError, utf8
from pepsi.tools.desk.table import GAP, line, widths
from pepsi.tools.settings.changing import declare_place
from pepsi.tools.settings.words import correspondent, key_name

PAGE = 500
"""Settings that are asked for at once: so many are in memory, however many are listed."""

_NAMES = ("address", "stage", "key", "value")
_FLEXIBLE = (0, 3)
_WIDEST = 1000
"""Characters of a cell that are looked at on a terminal."""


def declare_list(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``list``."""
    parser.add_argument("--address", metavar="ADDRESS", type=correspondent, help="only what is set for just that")
    parser.add_argument("--stage", metavar="NAME", type=utf8, help="only what is set at this stage")
    parser.add_argument("--json", action="store_true", help="print a JSON array")


def declare_get(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``get``."""
    declare_place(parser)
    parser.add_argument("key", metavar="KEY", nargs="?", type=key_name, help="this key only, and its value alone")
    parser.add_argument("--json", action="store_true", help="print a JSON object of keys and values")


async def run_list(desk: Desk, arguments: argparse.Namespace) -> None:
    """List what matches, by stage, address and key."""
    after: settings.Place = ("", "", "")
    sizes: list[int] = []
    opening = "["
    while True:
        rows = await desk.ask(settings.page(after=after, limit=PAGE, stage=arguments.stage, address=arguments.address))
        if arguments.json:
            for row in rows:
                desk.out.line(f"{opening}{ascii_json(json.dumps(dict(zip(_NAMES, row, strict=True))))}")
                opening = ","
        elif rows:
            sizes = _show(desk, rows, sizes)
        if len(rows) < PAGE:
            break
        address, stage, key, _ = rows[-1]
        after = (stage, address, key)
    if arguments.json:
        desk.out.line("[]" if opening == "[" else "]")
    desk.out.flush()


async def run_get(desk: Desk, arguments: argparse.Namespace) -> None:
    """Show what is set for just that address. Raises QueueError if a key that was named is not set."""
    rows = await desk.ask(settings.at(arguments.stage, [arguments.address]))
    values = {key: value for _, key, value in rows if arguments.key in (None, key)}
    if arguments.key is not None and not values:
        raise QueueError(f"{arguments.key} is not set for {arguments.address} at stage {arguments.stage}")
    if arguments.json:
        desk.out.line(ascii_json(json.dumps(values)))
    else:
        for key, value in values.items():
            desk.out.line(visible(value if arguments.key else f"{key} = {value}"))
    desk.out.flush()


def _show(desk: Desk, rows: Sequence[tuple[Any, ...]], sizes: list[int]) -> list[int]:
    """Write a page, and return how wide the columns are, which the first page says."""
    if not desk.out.terminal:
        for row in rows:
            desk.out.line("\t".join(visible(cell) for cell in row))
        return sizes
    table = [[visible(cell[:_WIDEST]) for cell in row] for row in rows]
    if not sizes:
        table.insert(0, [name.upper() for name in _NAMES])
        sizes = widths(table, desk.out.width, _FLEXIBLE)
    for cells in table:
        desk.out.line(GAP.join(line(cells, sizes, desk.out.ellipsis)).rstrip())
    return sizes


LIST = Command("list", "list what is set; what is done if no command is named", declare_list, run_list)
GET = Command("get", "show what is set for just this address, domain or everybody", declare_get, run_get)
