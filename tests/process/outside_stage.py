"""A stage that says of itself that it acts on the outside world."""

import sys

from pepsi.stages.api import Advance, Message, OnwardOptions, Outcome, Stage
from pepsi.worker.program import run


class Outside(Stage[OnwardOptions]):
    """Sends the message on."""

    name = "outside"
    Options = OnwardOptions
    acts_outside = True

    def process(self, message: Message, options: OnwardOptions) -> Outcome:
        return Advance(stage=options.next_stage)


if __name__ == "__main__":
    sys.exit(run(Outside))
