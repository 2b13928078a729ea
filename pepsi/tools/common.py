"""What the command-line tools share: global options, how an error is said and with which status, JSON and colour."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any, NoReturn

import psycopg2

from pepsi import __version__
from pepsi.db.faults import Fault, fault_of
from pepsi.errors import EX_ERROR, EX_OK, EX_TEMPFAIL, EX_UNAVAILABLE, PepsiError
from pepsi.model.text import visible

LEVELS = ("debug", "info", "warn", "error", "critical")
INTERRUPTED = 130
"""The exit status after Ctrl-C, as a shell reports it."""

_UNKNOWN = "unrecognized arguments: "

_MENDS = {
    Fault.LOST: "check [pepsi-postgres] DSN, and whether the server runs",
    Fault.LIMIT: "raise max_connections of the server, or lower PARALLELISM of some stages",
    Fault.READ_ONLY: "it is a standby, or set to be read only: connect to the primary",
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors cannot drive the terminal, whatever was typed or pasted."""

    def error(self, message: str) -> NoReturn:
        """Say *message* and the usage, and exit."""
        if message.startswith(_UNKNOWN):
            ours = [option for word in message.removeprefix(_UNKNOWN).split() if (option := self._own_option(word))]
            if ours:
                message += f"; {', '.join(ours)}: before the command, as in {self.prog} {ours[0]} ... COMMAND"
        super().error(visible(message))

    def _own_option(self, word: str) -> str:
        """Return the option that *word* is, without a value in the same word; empty if we have no such option."""
        option = word.partition("=")[0] if word.startswith("--") else word[:2]
        return option if option in self._option_string_actions else ""


def parser(prog: str, description: str, examples: str) -> Parser:
    """Return an argument parser with the options that stand before the subcommand of every tool.

    Every program asks for it before anything else, so this is where closed standard descriptors are mended.
    """
    open_standard_descriptors()
    made = Parser(
        prog=prog,
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("-c", "--config", metavar="FILE", help="the configuration file (default: see pepsi.conf(5))")
    made.add_argument("-L", "--log", choices=LEVELS, default="info", help="log from this level upwards (%(default)s)")
    made.add_argument("-V", "--version", action="version", version=f"{prog} {__version__}")
    return made


def open_standard_descriptors() -> None:
    """Begin anew with /dev/null on those of the descriptors 0 to 2 that were closed when the program was started.

    The next file or socket that is opened would be standard output otherwise, and get what is printed. By now that has
    happened: the reactor takes descriptors when it is imported. So the program is executed again, under the same
    process id.
    """
    closed = [number for number, stream in enumerate((sys.__stdin__, sys.__stdout__, sys.__stderr__)) if stream is None]
    if closed:
        null = os.open(os.devnull, os.O_RDWR)
        for number in closed:
            os.dup2(null, number)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def run(prog: str, body: Callable[[], int]) -> int:
    """Return what *body* returns; an error that it raises is said in one sentence, and its status returned."""
    try:
        status = body()
        sys.stdout.flush()
        return status
    except PepsiError as error:
        tell(prog, str(error))
        return error.exit_status
    except psycopg2.Error as error:
        sentence, status = explained(error)
        tell(prog, sentence)
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough. What is still buffered must not raise again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EX_OK


def tell(prog: str, text: str) -> None:
    """Say *text* on standard error, with all but the ends of its lines escaped that could drive a terminal (I12)."""
    print(f"{prog}:", "\n".join(visible(line) for line in text.split("\n")), file=sys.stderr)


def explained(error: psycopg2.Error) -> tuple[str, int]:
    """Return what an error of the driver means, in a sentence, and the exit status for it."""
    fault = fault_of(error)
    said = error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
    mend = _MENDS.get(fault) or error.diag.message_hint
    status = {Fault.LOST: EX_UNAVAILABLE, Fault.LIMIT: EX_TEMPFAIL}.get(fault, EX_ERROR)
    return f"the database says: {said}" + (f"; {mend}" if mend else ""), status


def reporter(prog: str, level: str) -> Callable[[str], None]:
    """Return what says a warning on stderr, unless *level* is above that."""

    def say(sentence: str) -> None:
        if LEVELS.index(level) <= LEVELS.index("warn"):
            tell(prog, sentence)

    return say


def print_json(value: Any) -> None:
    """Print *value* as JSON. Raises ValueError for what JSON has not, such as an infinite number."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))


def coloured(stream: IO[str], environ: Mapping[str, str]) -> bool:
    """Whether to print in colour to *stream*: on a terminal, and unless NO_COLOR is set."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def paint(text: str, code: int, *, colour: bool) -> str:
    """Return *text* in the colour of an ANSI *code*, if *colour*."""
    return f"\033[{code}m{text}\033[0m" if colour else text
