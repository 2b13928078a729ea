"""``pepsi-settings``: the command line."""

import sys
from collections.abc import Sequence

from pepsi.tools.account import SERVICE
from pepsi.tools.desk.program import Tool
from pepsi.tools.settings import changing, explain, listing
from pepsi.tools.settings.stages import import_stages

PROG = "pepsi-settings"
COMMANDS = {
    command.name: command for command in (listing.LIST, listing.GET, changing.SET, changing.UNSET, explain.COMMAND)
}
EXAMPLES = """\
  pepsi-settings                                        all that is set
  pepsi-settings explain bob@example.org mailbox        which values win for Bob's mail, and why
  pepsi-settings set bob@example.org mailbox LINE_ENDS lf
  pepsi-settings set @example.org mailbox LINE_ENDS lf  the same for a domain
  pepsi-settings set '*' mailbox TRACE_HEADERS no       and for everybody
  pepsi-settings get bob@example.org mailbox LINE_ENDS
  pepsi-settings unset bob@example.org mailbox LINE_ENDS
  pepsi-settings list --stage mailbox --json            for a program
"""
TOOL = Tool(
    prog=PROG,
    description="Look at what single correspondents have set for stages, and change it.",
    examples=EXAMPLES,
    commands=COMMANDS,
    prepare=import_stages,
)


def main(argv: Sequence[str] | None = None, *, account: str = SERVICE) -> int:
    """Run the command line *argv* and return the exit status. Root goes on as *account*."""
    return TOOL.main(argv, account)


if __name__ == "__main__":
    sys.exit(main())
