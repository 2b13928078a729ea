"""The stage on Pepsi's runtime: ``python -m tests.chaos.stage``."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pepsi.stages.api import (
    Advance,
    Changes,
    Message,
    OnwardOptions,
    Outcome,
    Pause,
    Refuse,
    Stage,
    TryLater,
    path,
)
from pepsi.worker.program import run
from tests.chaos import plan, record
from tests.chaos.plan import Deed
from tests.chaos.record import Recorder


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkOptions(OnwardOptions):
    """The keys of the stage."""

    record_directory: Path = path(required=True, doc="Where the record is.")  # noqa: RUF009


class Mark(Stage[MarkOptions]):
    """Writes down what it does, and does what the Subject says."""

    name = "mark"
    Options = MarkOptions

    def open(self, options: MarkOptions) -> None:
        self._recorder = Recorder(options.record_directory, os.environ["PEPSI_STAGE"], int(os.environ["PEPSI_EPOCH"]))

    def process(self, message: Message, options: MarkOptions) -> Outcome:
        planned = plan.read(message.subject)
        number = message.workqueue_id
        self._recorder.begin(number, planned.key)
        # Not message.state: another kind of trouble marks that too.
        again = bool(message.state.get("chaos_again"))
        mark = Changes(state={"chaos_again": True})
        match planned.deed_at(message.stage):
            case Deed.REFUSE:
                self._recorder.end(number, record.Outcome.FAILED)
                raise Refuse("refused by design")
            case Deed.LATER if not again:
                self._recorder.end(number, record.Outcome.WAITS)
                raise TryLater("put off by design", after=1.0, changes=mark)
            case Deed.PARK if not again:
                self._recorder.end(number, record.Outcome.WAITS)
                return Pause(delay=None, reason="parked by design", changes=mark)
            case Deed.CRASH:
                self._recorder.end(number, record.Outcome.CRASHES)
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(planned.seconds)
        self._recorder.act(number)
        self._recorder.end(number, record.Outcome.DECIDED)
        return Advance(stage=options.next_stage)


if __name__ == "__main__":
    sys.exit(run(Mark))
