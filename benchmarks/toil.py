"""A stage that takes its time, as long as the message's subject says. Run as a program of its own."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pepsi.stages.api import Finish, Message, Need, Options, Outcome, Stage, path
from pepsi.worker.program import run


@dataclass(frozen=True, slots=True, kw_only=True)
class ToilOptions(Options):
    """The keys of the stage's section."""

    record: Path = path(  # noqa: RUF009
        required=True, doc="The file that gets a line for each message: its id, and when it was begun and done."
    )


class Toil(Stage[ToilOptions]):
    """Sleeps as many milliseconds as the subject says, and writes down when."""

    name = "toil"
    Options = ToilOptions
    needs = Need.HEADERS
    """So that it gets and answers one message at a time, as any stage does that is worth its time."""

    def open(self, options: ToilOptions) -> None:
        """Open the record."""
        self._record = os.open(options.record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def process(self, message: Message, options: ToilOptions) -> Outcome:
        """Finish. The clock is the same for all processes of a machine."""
        begun = time.monotonic_ns()
        time.sleep(float(message.subject) / 1e3)
        os.write(self._record, b"%d %d %d\n" % (message.workqueue_id, begun, time.monotonic_ns()))
        return Finish()


if __name__ == "__main__":
    sys.exit(run(Toil))
