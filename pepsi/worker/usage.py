"""What ``-h`` says of a stage."""

import inspect
import textwrap
from typing import Any

from pepsi.config.option import Declared, declared
from pepsi.config.options import StageOptions
from pepsi.stages.api import Stage
from pepsi.worker.arguments import COMMANDS, FLAGS

WIDTH = 100

EXAMPLES = """\
  {prog} -c pepsi.conf check              see whether its sections are in order
  {prog} -o KEY=VALUE try message.eml     see what it does with a message
  {prog} -c pepsi.conf -s NAME try -      the same with the keys of [stage-NAME], and a message on standard input"""

STATUSES = """\
  0 done; 1 an error; 2 usage; 70 a worker that cannot trust itself any more; 75 the database takes no further
  connection; 78 the configuration or the schema of the database is wrong"""


def usage(prog: str, stage: type[Stage[Any]]) -> str:
    """Return the help text of *stage*, whose program is called *prog*."""
    common = declared(StageOptions)
    own = [option for option in declared(stage.Options) if option not in common]
    parts = [
        f"usage: {prog} [options] {{{','.join(COMMANDS)}}}",
        inspect.getdoc(stage) or "",
        "commands:\n" + "\n".join(f"  {f'{name} {operand}':<14}{doc}" for name, (operand, doc) in COMMANDS.items()),
        "options:\n" + "\n".join(f"  {f'{f.short}, {f.long} {f.value}':<25}{f.doc}" for f in FLAGS),
        "keys of its section:\n" + "\n".join(map(_key, own)) if own else "Its section has no keys of its own.",
        "examples:\n" + EXAMPLES.format(prog=prog),
        "exit status:\n" + STATUSES,
    ]
    return "\n\n".join(parts)


def _key(option: Declared) -> str:
    if option.required:
        default = " Must be set."
    elif option.default:
        default = f" Default: {option.default}."
    else:
        default = f" If it is not set, {option.unset}." if option.unset else ""
    doc = textwrap.fill(f"{option.doc}{default}", WIDTH, initial_indent="      ", subsequent_indent="      ")
    return f"  {option.key} = {option.type_name}\n{doc}"
