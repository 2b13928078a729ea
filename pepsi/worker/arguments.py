"""The command line of a stage's program.

Read by hand: the standard library's parser takes a tenth of a worker's start, and a worker has one option.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pepsi.errors import EX_USAGE, PepsiError

COMMANDS: Mapping[str, tuple[str, str]] = {
    "worker": ("", "take message ids on standard input: how the dispatcher runs it"),
    "check": ("", "check the section and what it refers to, without a database"),
    "try": ("MESSAGE", "run the stage on a file (- is standard input) without a database, and show the outcome"),
}
"""The subcommands: the operand of each, and what it does."""


class UsageError(PepsiError):
    """A command line that makes no sense."""

    exit_status = EX_USAGE


@dataclass(frozen=True, slots=True)
class Flag:
    """An option of the command line. Without a *value* it stands alone."""

    short: str
    long: str
    value: str
    doc: str


DEFAULT_SENDER = "sender@example.org"
DEFAULT_RECIPIENT = "recipient@example.net"

CONFIG = Flag("-c", "--config", "FILE", "the configuration file (default: see pepsi.conf(5))")
SECTION = Flag("-s", "--section", "NAME", "check, try: the stage whose section to use")
OPTION = Flag("-o", "--option", "KEY=VALUE", "check, try: a key of the section, set here; can be repeated")
SENDER = Flag("-f", "--from", "ADDRESS", f"try: the envelope sender (default: {DEFAULT_SENDER})")
RECIPIENT = Flag("-t", "--to", "ADDRESS", f"try: an envelope recipient, can be repeated (default: {DEFAULT_RECIPIENT})")
STATE = Flag("-j", "--state", "JSON", "try: the state of the message, an object")
HELP = Flag("-h", "--help", "", "show this and exit")
VERSION = Flag("-V", "--version", "", "show the version and exit")
FLAGS = (CONFIG, SECTION, OPTION, SENDER, RECIPIENT, STATE, HELP, VERSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What is to be done: *command* is a subcommand, or ``help`` or ``version``."""

    command: str
    operand: str = ""
    config: str | None = None
    section: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    sender: str = DEFAULT_SENDER
    recipients: tuple[str, ...] = (DEFAULT_RECIPIENT,)
    state: Mapping[str, Any] = field(default_factory=dict)


def parse(arguments: Sequence[str]) -> Invocation:
    """Read what stands behind the name of the program. Raises UsageError."""
    given: dict[Flag, list[str]] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        flag, value = _flag(rest)
        given.setdefault(flag, []).append(value)
    if HELP in given or VERSION in given:
        return Invocation(command="help" if HELP in given else "version")
    if not rest:
        raise UsageError(f"expected a command: {', '.join(COMMANDS)}")
    command, *operands = rest
    if command not in COMMANDS:
        raise UsageError(f"there is no command {command!r}; there are {', '.join(COMMANDS)}")
    wanted = COMMANDS[command][0]
    late = next((operand for operand in operands if operand.startswith("-") and operand != "-"), None)
    if late is not None:
        raise UsageError(f"options stand before the command: write {late} before {command}")
    if len(operands) != bool(wanted):
        raise UsageError(f"usage: {command} {wanted}".rstrip())
    return Invocation(
        command=command,
        operand=operands[0] if operands else "",
        config=given[CONFIG][-1] if CONFIG in given else None,
        section=given[SECTION][-1] if SECTION in given else None,
        options=dict(_pair(text) for text in given.get(OPTION, [])),
        sender=given.get(SENDER, [DEFAULT_SENDER])[-1],
        recipients=tuple(given.get(RECIPIENT, [DEFAULT_RECIPIENT])),
        state=_state(given.get(STATE, ["{}"])[-1]),
    )


def _flag(rest: list[str]) -> tuple[Flag, str]:
    """Take an option and its value off *rest*."""
    word = rest.pop(0)
    long, equals, attached = word.partition("=")
    for flag in FLAGS:
        if word == flag.short or long == flag.long:
            if not flag.value:
                return flag, ""
            if equals and long == flag.long:
                return flag, attached
            if not rest:
                raise UsageError(f"{word} needs a value: {flag.value}")
            return flag, rest.pop(0)
    raise UsageError(f"there is no option {word!r}; -h shows those there are")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"-o takes KEY=VALUE, not {text!r}")
    return key.strip(), value.strip()


def _state(text: str) -> Mapping[str, Any]:
    try:
        state = json.loads(text)
    except ValueError as error:
        raise UsageError(f"-j takes a JSON object: {error}") from None
    if not isinstance(state, dict):
        raise UsageError(f"-j takes a JSON object, not {text!r}")
    return state
