"""Where the next id of a stage goes: onto the fewest workers, but not behind slow mail while more could be started."""

import enum
from collections.abc import Iterable

from pepsi.sched.worker import Life, Worker

BEARABLE = 0.050
"""Seconds of work ahead that an id may be put behind while the stage could start another worker."""


class Elsewhere(enum.Enum):
    """Why no worker was chosen."""

    START = "start a worker"
    FULL = "no room"


def choose(workers: Iterable[Worker], *, queue_limit: int, average: float, may_start: bool) -> Worker | Elsewhere:
    """Return the worker that takes the next id, or say that one must be started, or that there is no room.

    *average* is the stage's time for a message in seconds. In order: the fullest ready worker with a free slot and
    bearable work ahead; a starting one likewise; a new one; whichever ready worker is least loaded; a starting one.
    """
    best: Worker | None = None
    least: Worker | None = None
    for worker in workers:
        if not worker.life.takes_ids or len(worker.line) >= min(queue_limit, len(worker.line) + worker.quota):
            continue
        if len(worker.line) * average < BEARABLE and (best is None or _rank(worker) > _rank(best)):
            best = worker
        if least is None or _load(worker) < _load(least):
            least = worker
    if best is not None:
        return best
    if may_start:
        return Elsewhere.START
    return least if least is not None else Elsewhere.FULL


def _rank(worker: Worker) -> tuple[bool, int, int]:
    return worker.life is Life.READY, len(worker.line), -worker.number


def _load(worker: Worker) -> tuple[bool, int]:
    return worker.life is not Life.READY, len(worker.line)
