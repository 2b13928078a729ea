"""``pepsi``: all of Pepsi on one machine, for real (``up``) or with sample mail to watch (``demo``)."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from twisted.application.service import IService

from pepsi.config.load import Config
from pepsi.demo import play
from pepsi.tap import command
from pepsi.tap.command import Ending
from pepsi.tap.up import assemble

PROG = "pepsi"
EXAMPLES = """\
  pepsi demo                   run everything in a temporary folder, send sample mail, show its way
  pepsi demo --stay            the same, and go on: send mail of your own to it
  pepsi -c pepsi.conf up       run private server, dispatcher and SMTP door until SIGTERM

exit status: 0 stopped in good order, or all sample mail arrived; 1 an error; 2 usage; 69 no database;
78 the database holds the schema of another release"""


def port(text: str) -> int:
    """Return the number of a port. Raises ValueError, which argparse turns into its message."""
    number = int(text)
    if not 0 <= number < 65536:
        raise ValueError(text)
    return number


def build(config: Config, ending: Ending) -> IService:
    """Return everything as one service."""
    return assemble(config, ending).service


def main(argv: Sequence[str] | None = None) -> int:
    """What the console script calls."""
    parser = command.parser(PROG, "Runs all of Pepsi on one machine.", EXAMPLES)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("up", help="private database, schema, dispatcher and SMTP door in one")
    demo = commands.add_parser(
        "demo",
        help="the same in a temporary folder, with sample mail",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.add_argument("--stay", action="store_true", help="keep running, and say how to send mail to it")
    demo.add_argument(
        "--port", type=port, default=0, metavar="PORT", help="the port of the loopback to take mail at (default: any)"
    )
    demo.add_argument("--folder", type=Path, help="work in this folder and leave it there (default: a temporary one)")
    arguments = parser.parse_args(argv)
    if arguments.command == "up":
        return command.serve(arguments, PROG, build)
    return play.run(stay=arguments.stay, port=arguments.port, folder=arguments.folder, out=sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
