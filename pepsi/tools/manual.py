"""Makes the manual page pepsi.conf(5) from the declarations of the keys: ``python -m pepsi.tools.manual``."""

import sys
from collections.abc import Sequence
from pathlib import Path

from pepsi.config.kind import SHARED, AnyKind
from pepsi.config.load import SECTIONS
from pepsi.config.option import declared
from pepsi.config.options import StageOptions
from pepsi.errors import EX_ERROR
from pepsi.tools.roff import example, key_list, kind_list, literal, own_keys, prose

PAGE = Path("man/pepsi.conf.5")

PLACES = (
    ("-c FILE", "on the command line of any program. It must exist."),
    ("$PEPSI_CONF", "if it is set and not empty. It must exist."),
    ("./pepsi.conf", "in the directory where the program was started."),
    ("~/.config/pepsi/pepsi.conf", "of the user who started the program."),
    ("/etc/pepsi/pepsi.conf", "for the whole machine."),
)

DESCRIPTION = "All programs of Pepsi read one file. It is the first of these that there is:"

SYNTAX = """
The file is UTF-8 text. A heading in brackets begins a section, KEY = value sets a key of it. Keys are written in upper
case; sections and the names of stages in lower case. No section and no key of a section may stand twice.

A # at the beginning of a line or after white space begins a comment. To have one in a value after white space, write
\\#.

An indented line goes on with the value of the line above it; the two are joined by a space. Quotes have no meaning,
except in a command. An empty value does not stand for the default: to get that, leave the key out.

A program that finds an error in the file tells all the errors in it, each on a line with the file, the line, the
section, the key, the value, and what was expected, and does not start.
"""

STAGES = """
Each stage has a section stage-NAME of its own, where NAME is what other sections call it. The keys below are those that
every stage has. The keys that are a stage's own are in the manual page of its program, and are checked when the program
starts.

Every key that ends in _STAGE names a stage to which messages can go, and the stages must fit together: a stage that is
named must exist. A stage that no message can reach is a warning, and so is a cycle that no message can leave.

Sections of stages can be changed while mail flows, by rows of the table pepsi.config_override, which are layered on
those of the file; a stage may also be there altogether. All other sections
are read when a program starts, but for MAX_RUNTIME of [pepsi-dispatch].
"""

EXAMPLE = """\
[pepsi]
HOSTNAME = mail.example.org

[pepsi-postgres]
DSN = host=/run/postgresql dbname=pepsi   # or embedded, for a private server

[pepsi-ingress]
LISTEN = tcp:25
ENTRY_STAGE = sort
LOCAL_DOMAINS = example.org lists.example.org

[stage-sort]
PROGRAM = pepsi-stage-if
CONDITION = any recipients matches "*@lists.example.org"
THEN_STAGE = list
ELSE_STAGE = mailbox

[stage-list]
PROGRAM = /usr/local/bin/expand-list
NEXT_STAGE = mailbox
PARALLELISM = 1
BOUNCE_STAGE = drop

[stage-mailbox]
PROGRAM = pepsi-stage-deliver-maildir
MAX_RUNTIME = 1 min

[stage-drop]
PROGRAM = pepsi-stage-discard
"""

SEE_ALSO = (
    "pepsi(1)",
    "pepsi-dispatch(8)",
    "pepsi-ingress(8)",
    "pepsi-settings(8)",
    "pepsi-setup(8)",
    "pepsi-stage(1)",
)


def page() -> str:
    """Return pepsi.conf(5) as roff."""
    lines = [
        '.\\" Made by python -m pepsi.tools.manual from the declarations of the keys: change those, not this.',
        '.TH PEPSI.CONF 5 "" Pepsi "File formats"',
        ".SH NAME",
        "pepsi.conf \\- configuration of the Pepsi mail system",
        ".SH DESCRIPTION",
        *prose(DESCRIPTION),
    ]
    for place, words in PLACES:
        lines += [".TP", f".B {literal(place)}", *prose(words)]
    lines += [".SH SYNTAX", *_paragraphs(SYNTAX), ".SH SECTIONS"]
    for name, cls in SECTIONS.items():
        lines += [f".SS [{literal(name)}]", *prose(_purpose(cls)), *key_list(declared(cls))]
    lines += [".SS [stage\\-NAME]", *_paragraphs(STAGES), *key_list(declared(StageOptions))]
    lines += [".SH VALUES", *kind_list(_kinds())]
    lines += [".SH EXAMPLE", *example(EXAMPLE)]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {literal(name[:-3])} {name[-3:]}" for name in SEE_ALSO)]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page to the file that is named, or to its place in the checkout."""
    arguments = sys.argv[1:] if argv is None else argv
    target = Path(arguments[0]) if arguments else PAGE
    try:
        target.write_text(page())
    except OSError as error:
        print(f"{target}: cannot be written: {error.strerror}", file=sys.stderr)
        return EX_ERROR
    return 0


def _paragraphs(text: str) -> list[str]:
    return [line for paragraph in text.strip().split("\n\n") for line in (".PP", *prose(paragraph))]


def _purpose(cls: type) -> str:
    """Return what the docstring of *cls* says after the name of its section."""
    first = (cls.__doc__ or "").splitlines()[0].partition(": ")[2]
    return first[:1].upper() + first[1:]


def _kinds() -> list[AnyKind]:
    """Return the kinds that all sections can use, and those that single sections have of their own."""
    own = [option.kind for cls in SECTIONS.values() for option in own_keys(cls)]
    return [*SHARED, *dict.fromkeys(kind for kind in own if kind not in SHARED and kind.name != "choice")]


if __name__ == "__main__":
    sys.exit(main())
