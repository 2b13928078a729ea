"""What a command of an operator's tool is, what it has at hand, and words on the command line that several share."""

import argparse
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pepsi.config.access import Access
from pepsi.config.values import NAME_LIMIT, is_stage
from pepsi.db.statement import Statement
from pepsi.errors import DatabaseError, PepsiError
from pepsi.model.text import ascii_json, visible
from pepsi.tools.desk.output import Output

LARGEST = 2**63 - 1
"""The largest id that a row can have."""

Ask = Callable[[Statement], Awaitable[list[tuple[Any, ...]]]]
"""Runs a statement and returns its rows. Raises Rejected, Away."""


class QueueError(PepsiError):
    """What was asked for was not done, or is not there."""


class Rejected(QueueError):
    """The database refused a statement."""


class Away(DatabaseError):
    """The database cannot be reached, or went away in the middle."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a command works with. *warn* says a sentence on standard error, *progress* one that is soon out of date."""

    ask: Ask
    out: Output
    access: Access
    warn: Callable[[str], None]
    progress: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: *sentence* for the help, *declare* adds its arguments, *run* does it.

    *run* raises QueueError when it cannot be done, Rejected and Away as *Desk.ask* does.
    """

    name: str
    sentence: str
    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Desk, argparse.Namespace], Awaitable[None]]


def message_id(text: str) -> int:
    """Return the id that *text* is, of ASCII digits and nothing else. Raises argparse.ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST):
        raise argparse.ArgumentTypeError(f"expected the number of a message, not {text!r}")
    return int(text)


def stage_name(text: str) -> str:
    """Return *text* if a stage can be called so. Raises argparse.ArgumentTypeError."""
    if not is_stage(text):
        raise argparse.ArgumentTypeError(
            f"a stage's name has 1 to {NAME_LIMIT} lower-case letters, digits, dots, dashes, underscores, "
            f"and {text!r} is none"
        )
    return text


def utf8(text: str) -> str:
    """Return *text* if the bytes that it was typed as were UTF-8. Raises argparse.ArgumentTypeError."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"expected UTF-8, not {text!r}") from None
    return text


def declare_report(parser: argparse.ArgumentParser) -> None:
    """Add the options on how a command that changes something says what it did."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="do not say what was done")
    group.add_argument("--json", action="store_true", help="say it as JSON")


def report(desk: Desk, arguments: argparse.Namespace, sentence: str, **facts: Any) -> None:
    """Say what was done: *sentence*, or *facts* if JSON is wanted, or nothing."""
    if arguments.json:
        desk.out.line(ascii_json(json.dumps(facts)))
    elif not arguments.quiet:
        desk.out.line(visible(sentence))
    desk.out.flush()


def no_such_message(workqueue_id: int) -> QueueError:
    """Return the error that says that there is no message of that id."""
    return QueueError(f"there is no message {workqueue_id}: it went through, was deleted, or never was")


def counted(number: int, what: str, many: str = "") -> str:
    """Return "1 message", "2 messages"."""
    return f"{number} {what if number == 1 else many or what + 's'}"
