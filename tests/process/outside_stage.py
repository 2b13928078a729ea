"""A stage that says of itself that it acts on the outside world, and keeps a record of what it did."""

import sys
from dataclasses import dataclass
from pathlib import Path

from pepsi.stages.api import Advance, Changes, Message, OnwardOptions, Outcome, Stage, path
from pepsi.worker.program import run


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideOptions(OnwardOptions):
    """The keys of the stage."""

    record: Path | None = path(None, doc="A file that gets a line for each time it acts.")  # noqa: RUF009
    gate: Path | None = path(None, doc="A pipe: it writes a byte to it, and reads a byte before it goes on.")  # noqa: RUF009


class Outside(Stage[OutsideOptions]):
    """Sends the message on."""

    name = "outside"
    Options = OutsideOptions
    acts_outside = True

    def process(self, message: Message, options: OutsideOptions) -> Outcome:
        if options.record is not None:
            with options.record.open("a") as record:
                record.write(f"{message.subject}\n")
        if options.gate is not None:
            with options.gate.with_suffix(".in").open("wb", buffering=0) as gate:
                gate.write(b"x")
            with options.gate.with_suffix(".out").open("rb", buffering=0) as gate:
                gate.read(1)
        if message.subject == "unfit":
            return Advance(stage=options.next_stage, changes=Changes(recipients=()))
        return Advance(stage=options.next_stage)


if __name__ == "__main__":
    sys.exit(run(Outside))
