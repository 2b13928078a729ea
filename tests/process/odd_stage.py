"""A stage that does what the Subject of a message says, for the tests of workers."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pepsi.stages.api import (
    Advance,
    Changes,
    ConfigError,
    Finish,
    Message,
    Need,
    Options,
    Outcome,
    Pause,
    Refuse,
    Requeue,
    Stage,
    TryLater,
    path,
    text,
)
from pepsi.worker.program import run


@dataclass(frozen=True, slots=True, kw_only=True)
class OddOptions(Options):
    """The keys of the stage."""

    key_file: Path | None = path(None, doc="A file that is read at the start.")  # noqa: RUF009
    opens: str = text("well", doc="How it opens: well, badly, with a bug.")
    gate: Path | None = path(None, doc="A pipe: 'wait' writes a byte to it, and reads a byte before it goes on.")  # noqa: RUF009


def advance(message: Message, options: OddOptions) -> Outcome:
    return Advance(stage="next")


def noise(message: Message, options: OddOptions) -> Outcome:
    print("0\n65 noise")
    sys.stdout.flush()
    os.write(1, b"0\n")
    subprocess.run(["sh", "-c", "echo 0; cat"], check=True)
    return Advance(stage="next")


def wait(message: Message, options: OddOptions) -> Outcome:
    assert options.gate is not None
    with options.gate.with_suffix(".in").open("wb", buffering=0) as gate:
        gate.write(b"x")
    with options.gate.with_suffix(".out").open("rb", buffering=0) as gate:
        gate.read(1)
    return Advance(stage="next")


def refuse(message: Message, options: OddOptions) -> Outcome:
    raise Refuse("not \0 like \ud800 this")


def later(message: Message, options: OddOptions) -> Outcome:
    raise TryLater("not now")


def unfit(message: Message, options: OddOptions) -> Outcome:
    raise TryLater("not now", changes=Changes(recipients=()))


def bug(message: Message, options: OddOptions) -> Outcome:
    raise KeyError("a \0 bug \ud800")


def memory(message: Message, options: OddOptions) -> Outcome:
    raise MemoryError


def leave(message: Message, options: OddOptions) -> Outcome:
    sys.exit(78)


def nothing(message: Message, options: OddOptions) -> Outcome:
    return None  # type: ignore[return-value]


def taken(message: Message, options: OddOptions) -> Outcome:
    return Advance(stage="next", changes=Changes(state={"refused_by_a_trigger": True}))


_DEEDS: Mapping[str, Callable[[Message, OddOptions], Outcome]] = {
    "advance": advance,
    "finish": lambda message, options: Finish(),
    "noise": noise,
    "wait": wait,
    "refuse": refuse,
    "later": later,
    "unfit": unfit,
    "bug": bug,
    "memory": memory,
    "leave": leave,
    "nothing": nothing,
    "taken": taken,
    "pause": lambda message, options: Pause(delay=None),
    "requeue": lambda message, options: Requeue(),
    "rewrite": lambda message, options: Advance(stage="next", changes=Changes(body=(message.body or b"") + b"more")),
}


class Odd(Stage[OddOptions]):
    """Does what the Subject says."""

    name = "odd"
    needs = Need.BODY
    Options = OddOptions

    def open(self, options: OddOptions) -> None:
        if options.opens == "badly":
            raise ConfigError("it opens badly\nin two lines")
        if options.opens == "with a bug":
            raise ValueError("a bug")
        if options.key_file is not None:
            options.key_file.read_bytes()

    def process(self, message: Message, options: OddOptions) -> Outcome:
        return _DEEDS[message.subject](message, options)


if __name__ == "__main__":
    sys.exit(run(Odd))
