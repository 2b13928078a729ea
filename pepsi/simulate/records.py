"""What is written down while a simulation runs. Its size depends on stages and classes, not on how much mail comes."""

import enum
from collections import Counter
from collections.abc import Collection

from pepsi.sched.commands import Level, Note
from pepsi.simulate.child import Child
from pepsi.simulate.fairness import Windows
from pepsi.simulate.histogram import Histogram
from pepsi.simulate.letter import Letter
from pepsi.simulate.table import Table


class Outcome(enum.Enum):
    """What became of a message."""

    DONE = "done"
    FAILED = "failed"


class Workers:
    """The workers of one stage: how many were started, how many ended, the most at once, and seconds of their lives."""

    __slots__ = ("busy", "ends", "most", "running", "seconds", "starts")

    def __init__(self) -> None:
        self.starts = self.ends = self.running = self.most = 0
        self.seconds = self.busy = 0.0


class Records:
    """Everything that a report is made from. *window* is the length of a window of fairness, in seconds."""

    def __init__(self, stages: Collection[str], window: float = 10.0) -> None:
        self.window = window
        self.windows = Windows()
        self.waits: dict[tuple[str, str], Histogram] = {}
        """By class and stage: how long messages waited there before a worker began with them."""
        self.ways: dict[str, Histogram] = {}
        """By class: from arrival to the end of the way."""
        self.workers = {stage: Workers() for stage in stages}
        self.outcomes: Counter[Outcome] = Counter()
        self.arrivals = 0
        self.last_arrival = 0.0
        self.claims = 0
        self.rows_claimed = 0
        self.most_workers = 0
        self.notes: Counter[tuple[Level, str]] = Counter()

    def arrived(self, letter: Letter) -> None:
        """A message has come in."""
        self.arrivals += 1
        self.last_arrival = letter.arrived

    def started(self, letter: Letter, stage: str, now: float) -> None:
        """A worker begins with a message; only the first time at a stage counts."""
        if letter.since is None:
            return
        key = letter.group, stage
        waits = self.waits.get(key)
        if waits is None:
            waits = self.waits[key] = Histogram()
        waits.add(now - letter.since)
        letter.since = None

    def served(self, letter: Letter, stage: str, seconds: float) -> None:
        """A worker has spent *seconds* on a message, and answers."""
        self.workers[stage].busy += seconds
        self.windows.served(stage, letter.sender, seconds)

    def ended(self, letter: Letter, outcome: Outcome, now: float) -> None:
        """A message is at the end of its way."""
        self.outcomes[outcome] += 1
        ways = self.ways.get(letter.group)
        if ways is None:
            ways = self.ways[letter.group] = Histogram()
        ways.add(now - letter.arrived)

    def claimed(self, rows: int) -> None:
        """A claim has brought so many rows."""
        self.claims += 1
        self.rows_claimed += rows

    def worker_started(self, child: Child, running: int) -> None:
        """A worker was started; so many run now."""
        workers = self.workers[child.stage.spec.name]
        workers.starts += 1
        workers.running += 1
        workers.most = max(workers.most, workers.running)
        self.most_workers = max(self.most_workers, running)

    def worker_ended(self, child: Child, now: float) -> None:
        """A worker is gone."""
        workers = self.workers[child.stage.spec.name]
        workers.ends += 1
        workers.running -= 1
        workers.seconds += now - child.started

    def left_over(self, child: Child, now: float) -> None:
        """A worker still runs when all is over."""
        self.workers[child.stage.spec.name].seconds += now - child.started

    def close_window(self, table: Table) -> None:
        """A window of fairness is over."""
        self.windows.close(table, self.workers)

    def noted(self, note: Note) -> None:
        """The engine had something to say."""
        if note.level in (Level.WARN, Level.ERROR):
            self.notes[note.level, note.text] += 1
