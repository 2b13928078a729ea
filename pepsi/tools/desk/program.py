"""A tool of several commands that work on the database: its command line, and how it gets at its work."""

import argparse
import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from pepsi.config.access import Access, load_access
from pepsi.config.load import load_base, locate
from pepsi.config.section import nearest
from pepsi.db.session import Parameters
from pepsi.db.statement import named
from pepsi.db.target import EMBEDDED, parameters_of
from pepsi.errors import EX_OK
from pepsi.tools.account import Successor, become, successor
from pepsi.tools.common import Parser, parser, reporter, run
from pepsi.tools.desk.command import Ask, Command, Desk
from pepsi.tools.desk.output import Output, Progress
from pepsi.tools.desk.table import width_of


def nothing(access: Access) -> None:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: *commands* by their names, ``list`` among them, which is run where none is named.

    *prepare* imports what the configuration makes necessary, while root may still read it.
    """

    prog: str
    description: str
    examples: str
    commands: Mapping[str, Command]
    prepare: Callable[[Access], None] = nothing

    def main(self, argv: Sequence[str] | None, account: str) -> int:
        """Run the command line *argv* and return the exit status. Root goes on as *account*."""
        made = _parser(self)
        words = sys.argv[1:] if argv is None else argv
        # Parsed in there, too: --print-completion prints a page, and whoever reads it may have enough.
        return run(self.prog, lambda: _perform(self, made.parse_args(_with_command(self, words, made)), account))


_WITH_VALUE = ("-c", "--config", "-L", "--log", "--print-completion")
_ALONE = ("-h", "--help", "-V", "--version")
"""Options that stand before the command, with a value and without one."""
_SHELLS = ("bash", "zsh", "tcsh")


def _parser(tool: Tool) -> Parser:
    made = parser(tool.prog, tool.description, tool.examples)
    made.add_argument(
        "--print-completion",
        choices=_SHELLS,
        action=_Completion,
        help="print what lets the shell complete this command; needs the package shtab",
    )
    group = made.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for command in tool.commands.values():
        added = group.add_parser(
            command.name, help=command.sentence, description=f"{command.sentence}.".capitalize(), allow_abbrev=False
        )
        command.declare(added)
    return made


class _Completion(argparse.Action):
    """Prints the script for a shell and exits."""

    def __call__(self, made: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        try:
            # Not at the top: it is needed once, when Pepsi is installed.
            import shtab
        except ImportError:
            made.error("--print-completion needs the package shtab: pip install 'pepsi[completion]'")
        print(shtab.complete(made, values), flush=True)
        made.exit(EX_OK)


def _with_command(tool: Tool, words: Sequence[str], made: Parser) -> list[str]:
    """Return *words* with ``list`` put in where no command is named. Exits for what is misplaced or no command."""
    place = _place_of_command(words)
    before, rest = words[:place], words[place:]
    if rest and rest[0] not in tool.commands and not rest[0].startswith("-") and not rest[0][:1].isdigit():
        hint = nearest(rest[0], tool.commands) or f"the commands are {', '.join(tool.commands)}"
        made.error(f"no such command: {rest[0]}; {hint}")
    for word in itertools.takewhile(lambda word: word != "--", rest):
        option = _option_of(word)
        if option in _WITH_VALUE:
            made.error(f"{option} stands before the command: {tool.prog} {option} ... {rest[0]} ...")
    return [*before, *([] if rest and rest[0] in tool.commands else ["list"]), *rest]


def _place_of_command(words: Sequence[str]) -> int:
    place = 0
    while place < len(words) and _option_of(words[place]) in (*_WITH_VALUE, *_ALONE):
        place += 2 if words[place] in _WITH_VALUE else 1
    return place


def _option_of(word: str) -> str:
    """Return the option that *word* is, without a value in the same word."""
    return word.partition("=")[0] if word.startswith("--") else word[:2]


def _perform(tool: Tool, arguments: argparse.Namespace, account: str) -> int:
    access = load_access(locate(arguments.config, os.environ))
    parameters, private_data = _parameters(tool.prog, access)
    # All that root can read and the account perhaps cannot comes before it goes on as that: modules, files of SQL.
    with _without("OpenSSL"):
        from pepsi.tools.desk import connection
    named("config_overlay")
    tool.prepare(access)
    out = Output(sys.stdout, os.environ)
    if os.geteuid() == 0:
        _step_down(successor(account, private_data))
    progress = Progress(sys.stderr, os.environ, wanted=not getattr(arguments, "quiet", False))
    say = reporter(tool.prog, arguments.log)

    def warn(sentence: str) -> None:
        progress.clear()
        say(sentence)

    async def work(ask: Ask) -> None:
        try:
            await tool.commands[arguments.command].run(Desk(ask, out, access, warn, progress.show), arguments)
        finally:
            progress.clear()

    connection.perform(parameters, access.path, work)
    return EX_OK


def _parameters(prog: str, access: Access) -> tuple[Parameters, Path | None]:
    """Return what to connect with, and where the data of the private server lies if it is that."""
    if access.postgres.dsn == EMBEDDED:
        # It lies under STATE_DIRECTORY, so that here [pepsi] must be right, too.
        base = load_base(access.path)
        return parameters_of(base, prog), base.pepsi.state_directory / "postgres" / "data"
    return Parameters(
        dsn=access.postgres.dsn,
        application_name=prog,
        connect_timeout=access.postgres.connect_timeout,
        statement_timeout=access.postgres.statement_timeout,
    ), None


def _step_down(account: Successor | None) -> None:
    if account is not None:
        width_of("é")  # imports its tables
        become(account)


@contextlib.contextmanager
def _without(module: str) -> Iterator[None]:
    """Let imports in the block do without *module*, which is none of what they need.

    The reactor takes OpenSSL along if it is there, a fifth of the start, and nothing here speaks TLS but libpq.
    """
    if module in sys.modules:
        yield
        return
    modules = cast(MutableMapping[str, ModuleType | None], sys.modules)
    modules[module] = None
    try:
        yield
    finally:
        del modules[module]
