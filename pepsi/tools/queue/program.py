"""``pepsi-queue``: the command line."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, MutableMapping, Sequence
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
from pepsi.tools.account import SERVICE, Successor, become, successor
from pepsi.tools.common import Parser, parser, reporter, run
from pepsi.tools.queue import clear_all, delete, expire, listing, set_stage
from pepsi.tools.queue.command import Ask, Desk
from pepsi.tools.queue.output import Output, Progress
from pepsi.tools.queue.table import width_of

PROG = "pepsi-queue"
COMMANDS = {
    command.name: command
    for command in (listing.COMMAND, delete.COMMAND, set_stage.COMMAND, clear_all.COMMAND, expire.COMMAND)
}
EXAMPLES = """\
  pepsi-queue                            the first hundred messages
  pepsi-queue 42                         message 42
  pepsi-queue --state-only 42            all that is remembered of it, as JSON
  pepsi-queue --status failed --json     what has failed, for a program
  pepsi-queue set-stage 42 relay         let it go on at the stage relay
  pepsi-queue delete 42                  delete it for good
  pepsi-queue clear-all --paused         let all that waits for a later time be tried now
  pepsi-queue -c pepsi.conf gc --quiet   what the timer does
"""

_WITH_VALUE = ("-c", "--config", "-L", "--log", "--print-completion")
_ALONE = ("-h", "--help", "-V", "--version")
"""Options that stand before the command, with a value and without one."""
_SHELLS = ("bash", "zsh", "tcsh")


def main(argv: Sequence[str] | None = None, *, account: str = SERVICE) -> int:
    """Run the command line *argv* and return the exit status. Root goes on as *account*."""
    made = _parser()
    arguments = made.parse_args(_with_command(sys.argv[1:] if argv is None else argv, made))
    return run(PROG, lambda: _perform(arguments, account))


def _parser() -> Parser:
    made = parser(PROG, "Look at the queue, and repair it.", EXAMPLES)
    made.add_argument(
        "--print-completion",
        choices=_SHELLS,
        action=_Completion,
        help="print what lets the shell complete this command; needs the package shtab",
    )
    group = made.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for command in COMMANDS.values():
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
        print(shtab.complete(made, values))
        made.exit(EX_OK)


def _with_command(words: Sequence[str], made: Parser) -> list[str]:
    """Return *words* with ``list`` put in where no command is named. Exits for what is misplaced or no command."""
    place = _place_of_command(words)
    before, rest = words[:place], words[place:]
    if rest and rest[0] not in COMMANDS and not rest[0].startswith("-") and not rest[0][:1].isdigit():
        hint = nearest(rest[0], COMMANDS) or f"the commands are {', '.join(COMMANDS)}"
        made.error(f"no such command: {rest[0]}; {hint}")
    for word in rest:
        if _option_of(word) in _WITH_VALUE:
            made.error(f"{_option_of(word)} stands before the command: {PROG} {_option_of(word)} ... {rest[0]} ...")
    return [*before, *([] if rest and rest[0] in COMMANDS else ["list"]), *rest]


def _place_of_command(words: Sequence[str]) -> int:
    place = 0
    while place < len(words) and _option_of(words[place]) in (*_WITH_VALUE, *_ALONE):
        place += 2 if words[place] in _WITH_VALUE else 1
    return place


def _option_of(word: str) -> str:
    """Return the option that *word* is, without a value in the same word."""
    return word.partition("=")[0] if word.startswith("--") else word[:2]


def _perform(arguments: argparse.Namespace, account: str) -> int:
    access = load_access(locate(arguments.config, os.environ))
    parameters, private_data = _parameters(access)
    # All that root can read and the account perhaps cannot comes before it goes on as that: modules, files of SQL.
    with _without("OpenSSL"):
        from pepsi.tools.queue import connection
    named("queue_page", **dict.fromkeys(("after", "limit", "id", "stage", "status", "state_limit")))
    out = Output(sys.stdout, os.environ)
    if os.geteuid() == 0:
        _step_down(successor(account, private_data))
    progress = Progress(sys.stderr, os.environ, wanted=not getattr(arguments, "quiet", False))
    say = reporter(PROG, arguments.log)

    def warn(sentence: str) -> None:
        progress.clear()
        say(sentence)

    async def work(ask: Ask) -> None:
        try:
            await COMMANDS[arguments.command].run(Desk(ask, out, access, warn, progress.show), arguments)
        finally:
            progress.clear()

    connection.perform(parameters, access.path, work)
    return EX_OK


def _parameters(access: Access) -> tuple[Parameters, Path | None]:
    """Return what to connect with, and where the data of the private server lies if it is that."""
    if access.postgres.dsn == EMBEDDED:
        # It lies under STATE_DIRECTORY, so that here [pepsi] must be right, too.
        base = load_base(access.path)
        return parameters_of(base, PROG), base.pepsi.state_directory / "postgres" / "data"
    return Parameters(
        dsn=access.postgres.dsn,
        application_name=PROG,
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


if __name__ == "__main__":
    sys.exit(main())
