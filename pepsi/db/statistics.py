"""The statement that adds the dispatcher's counts to the database's."""

import json
from dataclasses import asdict

from pepsi.db.statement import Statement, named
from pepsi.sched.statistics import Deltas


def flush(epoch: int, number: int, deltas: Deltas) -> Statement:
    """Add *deltas*, unless the flush *number* of *epoch* or a later one has been written."""
    stages = [{"stage": stage, **asdict(counts)} for stage, counts in deltas.stages.items()]
    return named(
        "flush_statistics",
        epoch=epoch,
        number=number,
        passes=deltas.passes,
        failed=deltas.failed,
        stages=json.dumps(stages),
    )
