"""What a claim costs. Each is rolled back, so that the next finds the same queue."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from psycopg2.extensions import connection as Connection

from benchmarks.errors import BenchmarkError
from benchmarks.figures import interleaved
from pepsi.db import claims, sync
from pepsi.db.statement import Statement
from pepsi.model import claim
from pepsi.sched.commands import Claim, Sender, Want

TOKEN = claim.pack(1, 1)

_READ = Statement(
    "SELECT sum(pg_stat_get_xact_tuples_returned(r.oid)) FROM ("
    "SELECT indexrelid AS oid FROM pg_index WHERE indrelid = 'pepsi.workqueue'::regclass "
    "UNION ALL SELECT 'pepsi.workqueue'::regclass) r"
)
"""What this session has read, of the table as such and of its indexes. The views of all sessions lag behind, and the
buffers that EXPLAIN counts say nothing of the many dead entries that fit into one."""


@dataclass(slots=True)
class Subject:
    """One kind of claim from one queue, and what it cost each time: milliseconds, and rows read."""

    connection: Connection
    command: Claim
    times: list[float] = field(default_factory=list)
    read: list[int] = field(default_factory=list)

    @property
    def medians(self) -> tuple[float, float]:
        """Milliseconds and rows read."""
        return median(self.times), median(self.read)

    def claim(self, *, counts: bool = True) -> None:
        """Claim once. The next one looks at the senders that come after those of this one, as the dispatcher does."""
        statement = claims.claim(self.command)
        sync.run(self.connection, Statement("BEGIN"))
        before = sync.run(self.connection, _READ)[0][0]
        begun = time.perf_counter()
        rows = sync.run(self.connection, statement)
        ended = time.perf_counter()
        after = sync.run(self.connection, _READ)[0][0]
        sync.run(self.connection, Statement("ROLLBACK"))
        claimed = claims.claimed(self.command, rows)
        expected = sum(want.capacity for want in self.command.wants)
        if len(claimed.rows) != expected:
            raise BenchmarkError(f"{expected} rows were to be claimed, and {len(claimed.rows)} were")
        lasts = {window.stage: window.last for window in claimed.windows}
        wants = tuple(replace(want, after=lasts.get(want.stage, "")) for want in self.command.wants)
        self.command = replace(self.command, wants=wants)
        if counts:
            self.times.append((ended - begun) * 1e3)
            self.read.append(int(after - before))


def oldest(capacity: int, *stages: str) -> Claim:
    """Return a claim of the oldest rows of *stages*."""
    return Claim(token=TOKEN, fair=False, wants=tuple(Want(stage=stage, capacity=capacity) for stage in stages))


def fair(capacity: int, stage: str, senders: Sequence[Sender] = ()) -> Claim:
    """Return a claim in the fair order, with a tenth of the rows by age. *senders* have leads."""
    want = Want(stage=stage, capacity=capacity, fifo=-(-capacity // 10), senders=tuple(senders))
    return Claim(token=TOKEN, fair=True, wants=(want,))


def take_turns(subjects: Sequence[Subject], rounds: int, claims_each: int) -> None:
    """Measure *subjects* in turn, after a round that does not count."""
    for subject in subjects:
        for _ in range(claims_each):
            subject.claim(counts=False)
    for subject in interleaved(subjects, rounds):
        for _ in range(claims_each):
            subject.claim()
