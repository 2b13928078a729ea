"""The program of a stage: ``pepsi-stage-NAME``, ``pepsi-stage NAME``, and ``python -m`` of somebody else's module.

A worker is to start quickly, so each command imports what it needs when it is given, and not before.
"""

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from pepsi import __version__
from pepsi.errors import EX_CONFIG, EX_USAGE, PepsiError
from pepsi.stages.api import Stage
from pepsi.worker.arguments import Invocation, UsageError, parse
from pepsi.worker.channel import Channel
from pepsi.worker.note import note, note_traceback

COMMON = "pepsi-stage"

EX_SOFTWARE = 70
"""The exit status of a worker that cannot trust itself any more."""

Find = Callable[[], type[Stage[Any]]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program of a stage that can be found by name, and return the exit status."""
    called, *arguments = sys.argv if argv is None else argv
    prog = PurePath(called).name
    name = prog.removeprefix(f"{COMMON}-")
    if name == prog:
        if not arguments or arguments[0].startswith("-"):
            return _without_a_name(prog, arguments)
        name, *arguments = arguments
        prog = f"{prog} {name}"

    def find() -> type[Stage[Any]]:
        from pepsi.stages import registry

        return registry.find(name)

    return _run(prog, find, arguments)


def run(stage: type[Stage[Any]], argv: Sequence[str] | None = None) -> int:
    """Run the program of *stage*, and return the exit status. For ``if __name__ == "__main__"`` of its own module."""
    called, *arguments = sys.argv if argv is None else argv
    return _run(PurePath(called).name, lambda: stage, arguments)


def _run(prog: str, find: Find, arguments: Sequence[str]) -> int:
    # First of all: a parent that dies from here on is noticed.
    parent = os.getppid()
    for stream in (sys.stdout, sys.stderr):
        # Mail and file names hold what the locale cannot say.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        invocation = parse(arguments)
        if invocation.command == "worker":
            # Before a stage is imported: from here on nothing that it prints can be taken for an answer.
            return _worker(Channel.take(), find, invocation, parent)
        if invocation.command == "version":
            print(f"{prog} {__version__}")
            return 0
        return _by_hand(prog, find(), invocation, os.environ)
    except UsageError as error:
        note(f"{prog}: {error}")
        return EX_USAGE
    except PepsiError as error:
        note(f"{prog}: {error}")
        return error.exit_status


def _worker(channel: Channel, find: Find, invocation: Invocation, parent: int) -> int:
    try:
        stage = find()()
        _import_driver()
        from pepsi.config.load import locate
        from pepsi.worker.start import work

        return work(stage, locate(invocation.config, os.environ), channel, os.environ, parent)
    except PepsiError as error:
        note(str(error))
        return EX_CONFIG
    except BaseException as error:  # noqa: BLE001 - whatever it is, the dispatcher must not take it for another status
        note_traceback(error)
        return EX_SOFTWARE


def _by_hand(prog: str, stage: type[Stage[Any]], invocation: Invocation, environ: Mapping[str, str]) -> int:
    if invocation.command == "check":
        from pepsi.worker.check import check

        return check(stage, invocation, environ)
    if invocation.command == "try":
        from pepsi.worker.attempt import attempt

        return attempt(stage, invocation, environ)
    from pepsi.worker.usage import usage

    print(usage(prog, stage))
    return 0


def _without_a_name(prog: str, arguments: Sequence[str]) -> int:
    if arguments and arguments[0] in ("-V", "--version"):
        print(f"{prog} {__version__}")
        return 0
    from pepsi.stages.registry import names

    text = (
        f"usage: {prog} STAGE [options] COMMAND\n\nstages: {', '.join(names())}\n\n{prog} STAGE -h says more of each."
    )
    if arguments and arguments[0] in ("-h", "--help"):
        print(text)
        return 0
    note(text)
    return EX_USAGE


def _import_driver() -> None:
    """Import the driver of the database without Python's ssl, unless the stage has loaded it already.

    The driver wants it only to hand it the locks of OpenSSL, which have been OpenSSL's own for a long time; importing
    it takes longer than connecting. Python's ssl itself can be imported as ever afterwards.
    """
    if "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import psycopg2  # noqa: F401
    finally:
        del sys.modules["ssl"]


if __name__ == "__main__":
    sys.exit(main())
