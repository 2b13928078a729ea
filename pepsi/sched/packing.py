"""Where the next id of a stage goes: onto the fewest workers, but not behind slow mail while more could be started."""

import enum
import math
from collections.abc import Iterable

from pepsi.sched.worker import Life, Worker

BEARABLE = 0.050
"""Seconds of work ahead that an id may be put behind while the stage could start another worker."""
AHEAD = 0.015
"""Seconds of work that a worker is handed ahead of time where senders take turns: more than the way to it takes."""


class Elsewhere(enum.Enum):
    """Why no worker was chosen."""

    START = "start a worker"
    WAIT = "wait for a slot"


def choose(
    workers: Iterable[Worker], *, waiting: int, queue_limit: int, average: float, may_start: bool, depth: int
) -> Worker | Elsewhere:
    """Return the worker that takes the first of *waiting* ids, or say what is to be done instead.

    *average* is the stage's time for a message in seconds. In order: the fullest ready worker with a free slot and
    bearable work ahead; a worker that is starting, if no ready one has room at all; a new one; whichever is loaded
    least. An id that a ready worker has room for waits for a starting one rather than be handed to it: what is handed
    over before a worker is ready cannot be handed to another one any more. Nor is it handed to a worker that has
    *depth* ids: it waits for that one if the work ahead is bearable, and for whoever is free first in any case.
    """
    bearable = min(queue_limit, math.ceil(BEARABLE / average)) if average > 0 else queue_limit
    best: Worker | None = None
    least: Worker | None = None
    starting: Worker | None = None
    coming = 0
    one_is_at_work = False
    for worker in workers:
        if not _takes(worker, queue_limit):
            continue
        load = len(worker.line)
        if worker.life is Life.STARTING:
            coming += max(0, bearable - load)
            if load < depth and (starting is None or load < len(starting.line)):
                starting = worker
            continue
        if load >= depth:
            coming += max(0, bearable - load)
            one_is_at_work = True
            continue
        if load < bearable and (best is None or load > len(best.line)):
            best = worker
        if least is None or load < len(least.line):
            least = worker
    if best is not None:
        return best
    if (
        least is None
        and starting is not None
        and not one_is_at_work
        and (len(starting.line) < bearable or not may_start)
    ):
        return starting
    if waiting > coming:
        if may_start:
            return Elsewhere.START
        if least is not None:
            return least
    return Elsewhere.WAIT


def depth(queue_limit: int, average: float) -> int:
    """Return how many ids a worker is handed where senders take turns: while the work ahead of one is short.

    What is handed over cannot be overtaken any more. Where a message takes *average* seconds, long enough for the next
    one to be handed over in time, none has to wait in a pipe behind another.
    """
    return max(1, min(queue_limit, math.ceil(AHEAD / average))) if average > 0 else queue_limit


def choose_alone(workers: Iterable[Worker], *, waiting: int, may_start: bool) -> Worker | Elsewhere:
    """The same for the first of *waiting* ids that are each to run alone: a worker that holds nothing at all."""
    coming = 0
    for worker in workers:
        if not _takes(worker, 1):
            continue
        if worker.life is Life.READY:
            return worker
        coming += 1
    return Elsewhere.START if may_start and waiting > coming else Elsewhere.WAIT


def kept_free(workers: Iterable[Worker]) -> Worker | None:
    """Return the worker that is to be fed no more, so that an id which is to run alone gets its turn."""
    takers = [worker for worker in workers if worker.life.takes_ids and not worker.engaged]
    return min(takers, key=lambda worker: len(worker.line), default=None)


def _takes(worker: Worker, queue_limit: int) -> bool:
    return worker.life.takes_ids and worker.quota > 0 and len(worker.line) < queue_limit and not worker.engaged
