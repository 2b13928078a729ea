"""The stage of the tests, as one that looks at no content and so works in batches."""

import sys

from pepsi.stages.api import Need
from pepsi.worker.program import run
from tests.process.odd_stage import Odd


class Batch(Odd):
    """Does what the Subject says, to many messages at once."""

    name = "batch"
    needs = Need.METADATA


if __name__ == "__main__":
    sys.exit(run(Batch))
