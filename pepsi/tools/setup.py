"""``pepsi-setup``: makes the database and the schema, keeps the schema up to date, and looks whether all is well."""

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

import psycopg2
from psycopg2 import sql
from psycopg2.extensions import connection as Connection
from psycopg2.extensions import parse_dsn

from pepsi.config.load import load, load_base, locate
from pepsi.db import schema
from pepsi.db.overlay import overlaid, overlay
from pepsi.db.schema import Verdict
from pepsi.db.session import described
from pepsi.db.sync import run as run_statement
from pepsi.errors import EX_CONFIG, EX_ERROR, EX_OK, EX_USAGE
from pepsi.tools.common import coloured, explained, paint, parser, print_json, reporter, run
from pepsi.tools.database import connected, server
from pepsi.tools.doctor import Finding, Grade, examine, gather, look_at_queue, worst
from pepsi.tools.schema import SetupFailed, drop, ensure, install, state_of, upgrade

PROG = "pepsi-setup"
EXAMPLES = """\
  pepsi-setup schema                   install the schema, or bring it up to date
  pepsi-setup schema install --roles   install it, and roles with few rights each
  pepsi-setup -c pepsi.conf doctor     look whether the database is fit for mail
  pepsi-setup database create          make the database that DSN names
"""

_COLOURS = {Grade.GOOD: 32, Grade.DOUBT: 33, Grade.BAD: 31}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* and return the exit status."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    return run(PROG, lambda: command(arguments))


def confirmed(question: str, answer: str, stdin: TextIO) -> bool:
    """Whether somebody at a terminal types *answer* when asked *question*. Without a terminal nobody does."""
    if not stdin.isatty():
        return False
    print(f"{question}\nType {answer} to go on: ", end="", file=sys.stderr, flush=True)
    return stdin.readline().strip() == answer


def _parser() -> argparse.ArgumentParser:
    made = parser(PROG, "Set up the database of Pepsi, and look whether it is well.", EXAMPLES)
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    group = commands.add_parser("schema", help="install, upgrade, check or drop the schema", allow_abbrev=False)
    group.set_defaults(command=_ensure)
    actions = group.add_subparsers(metavar="ACTION")
    action = actions.add_parser("install", help="make the schema where there is none", allow_abbrev=False)
    action.add_argument("--roles", action="store_true", help="make the roles pepsi_dispatch, pepsi_stage, ... too")
    action.set_defaults(command=_install)
    action = actions.add_parser("upgrade", help="bring an older schema up to date", allow_abbrev=False)
    action.set_defaults(command=_upgrade)
    action = actions.add_parser("check", help="say whether the schema is this Pepsi's", allow_abbrev=False)
    action.add_argument("--json", action="store_true", help="print JSON")
    action.set_defaults(command=_check)
    action = actions.add_parser("drop", help="remove the schema and every message in it", allow_abbrev=False)
    action.add_argument("--yes", action="store_true", help="do not ask")
    action.set_defaults(command=_drop)
    group = commands.add_parser("database", help="make the database", allow_abbrev=False)
    actions = group.add_subparsers(required=True, metavar="ACTION")
    action = actions.add_parser("create", help="make the database that DSN names, in UTF8", allow_abbrev=False)
    action.add_argument(
        "--via", metavar="DATABASE", default="postgres", help="the database to connect to for it (%(default)s)"
    )
    action.set_defaults(command=_create)
    action = commands.add_parser("doctor", help="look whether the database is fit for mail", allow_abbrev=False)
    action.add_argument("--json", action="store_true", help="print JSON")
    action.set_defaults(command=_doctor)
    return made


@contextlib.contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[Connection]:
    config = load_base(locate(arguments.config, os.environ))
    with server(config, reporter(PROG, arguments.log)) as dsn, connected(dsn, config, PROG) as connection:
        yield connection


def _ensure(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as connection:
        print(ensure(connection, schema.shipped()))
    return EX_OK


def _install(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as connection:
        print(install(connection, schema.shipped(), roles=arguments.roles))
    return EX_OK


def _upgrade(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as connection:
        print(upgrade(connection, schema.shipped()))
    return EX_OK


def _check(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as connection:
        state = state_of(connection, schema.shipped())
    if arguments.json:
        print_json(
            {
                "verdict": state.verdict.value,
                "release": state.release,
                "shipped": state.shipped,
                "altered": state.altered or None,
            }
        )
    else:
        print(state)
    return EX_OK if state.verdict is Verdict.CURRENT else EX_CONFIG


def _drop(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as connection:
        name = connection.info.dbname
        question = f"This removes every message in database {name} ({described(connection.dsn)})."
        if not arguments.yes and not confirmed(question, name, sys.stdin):
            print(f"{PROG}: nothing was dropped; say --yes if that is what you want", file=sys.stderr)
            return EX_USAGE
        print(drop(connection))
    return EX_OK


def _create(arguments: argparse.Namespace) -> int:
    config = load_base(locate(arguments.config, os.environ))
    with server(config, reporter(PROG, arguments.log)) as dsn:
        name = parse_dsn(dsn).get("dbname")
        if name is None:
            raise SetupFailed("[pepsi-postgres] DSN names no database: add dbname=pepsi to it")
        with connected(dsn, config, PROG, arguments.via) as connection, connection.cursor() as cursor:
            # The template has nothing in it that could be at odds with the encoding.
            command = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
            try:
                cursor.execute(sql.SQL(command).format(sql.Identifier(name)))
            except psycopg2.errors.DuplicateDatabase:
                print(f"database {name} exists already")
                return EX_OK
            except psycopg2.errors.InsufficientPrivilege as error:
                cursor.execute("SELECT current_user")
                ((role,),) = cursor.fetchall()
                raise SetupFailed(
                    f"the role {role} may not make databases: let one that may do it, "
                    f"as in createdb -T template0 -E UTF8 --locale=C -O {shlex.quote(role)} {shlex.quote(name)}"
                ) from error
    print(f"created database {name}; 'pepsi-setup schema' puts the schema into it")
    return EX_OK


def _doctor(arguments: argparse.Namespace) -> int:
    path = locate(arguments.config, os.environ)
    base = load_base(path)
    with server(base, reporter(PROG, arguments.log)) as dsn:
        try:
            with connected(dsn, base, PROG) as connection:
                facts = gather(connection)
                there = facts.schema.verdict is Verdict.CURRENT
                # Stages may be defined in the database alone.
                config = load(path, overlay=overlaid(run_statement(connection, overlay())) if there else ())
                if there:
                    facts = look_at_queue(connection, facts, config)
        except psycopg2.Error as error:
            said, status = explained(error)
            _tell([Finding(Grade.BAD, f"cannot be examined: {described(dsn)}", said)], as_json=arguments.json)
            return status
    findings = [Finding(Grade.GOOD, f"connects to {described(dsn)}"), *examine(facts, config)]
    _tell(findings, as_json=arguments.json)
    return EX_ERROR if worst(findings) is Grade.BAD else EX_OK


def _tell(findings: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        print_json([{"grade": found.grade.value, "what": found.what, "mend": found.mend} for found in findings])
        return
    colour = coloured(sys.stdout, os.environ)
    for found in findings:
        print(f"{paint(f'{found.grade:5}', _COLOURS[found.grade], colour=colour)}  {found.what}")
        if found.mend:
            print(f"       {found.mend}")


if __name__ == "__main__":
    sys.exit(main())
