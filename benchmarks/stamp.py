"""A stage that writes down when it was begun, and finishes. Run as a program of its own, as a third party's is."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pepsi.stages.api import Finish, Message, Options, Outcome, Stage, path
from pepsi.worker.program import run


@dataclass(frozen=True, slots=True, kw_only=True)
class StampOptions(Options):
    """The keys of the stage's section."""

    record: Path = path(  # noqa: RUF009
        required=True, doc="The file that gets a line for each message: its id, and nanoseconds of the clock."
    )


class Stamp(Stage[StampOptions]):
    """Writes down the time at which it gets each message."""

    name = "stamp"
    Options = StampOptions

    def open(self, options: StampOptions) -> None:
        """Open the record."""
        self._record = os.open(options.record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def process(self, message: Message, options: StampOptions) -> Outcome:
        """Finish. The clock is the same for all processes of a machine."""
        now = time.monotonic_ns()
        os.write(self._record, b"%d %d\n" % (message.workqueue_id, now))
        return Finish()


if __name__ == "__main__":
    sys.exit(run(Stamp))
