"""What the dispatcher does for the database beside mail: adds its counts, and sweeps up what was left behind."""

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


def sweep(limit: int) -> Statement:
    """Delete bodies that no row refers to, *limit* at most; returns one row, with how many."""
    return named("sweep_bodies", limit=limit)
