"""``pepsi-queue``: the command line."""

import sys
from collections.abc import Sequence

from pepsi.tools.account import SERVICE
from pepsi.tools.desk.program import Tool
from pepsi.tools.queue import clear_all, delete, expire, listing, set_stage

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


TOOL = Tool(prog=PROG, description="Look at the queue, and repair it.", examples=EXAMPLES, commands=COMMANDS)


def main(argv: Sequence[str] | None = None, *, account: str = SERVICE) -> int:
    """Run the command line *argv* and return the exit status. Root goes on as *account*."""
    return TOOL.main(argv, account)


if __name__ == "__main__":
    sys.exit(main())
