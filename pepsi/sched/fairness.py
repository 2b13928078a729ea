"""Whose turn it is, as far as memory goes: what senders were charged, and whether the oldest rows had their share."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pepsi.sched.events import Window
from pepsi.sched.held import Held
from pepsi.sched.leads import Leads

ONE_ROW = 100
"""Of the carry, which counts in hundredths of a row."""
MOST_OWED = 100
"""Rows by which the oldest can be ahead of their share: after one that took for ever others get theirs again."""


@dataclass(slots=True)
class Carry:
    """Keeps the share of a stage's oldest rows over time, however few rows each claim takes."""

    percent: int
    due: int = 0
    """In hundredths of a row; less than 0 when the oldest rows are ahead of their share."""

    def part(self, capacity: int) -> int:
        """Return how many of the next *capacity* rows are to be the oldest ones."""
        return max(0, min(capacity, (self.due + self.percent * capacity) // ONE_ROW))

    def took(self, rows: int, oldest: int, *, all_taken: bool) -> None:
        """*rows* were claimed, *oldest* of them because they were the oldest. *all_taken*: no others wait."""
        self.due += self.percent * rows - ONE_ROW * min(rows, oldest)
        if all_taken:
            self.due = max(0, self.due)  # whoever came first, nobody was kept waiting by it

    def cost(self, rows: float) -> None:
        """One of the oldest rows took as long as *rows* usual ones, and counts as so many.

        A sender whose mail takes long falls behind by the fair order, so that the oldest rows are soon all its own. A
        share of the rows would then be a multiple of that in worker time, and the others would pay for it.
        """
        self.due = max(-ONE_ROW * MOST_OWED, self.due + int(ONE_ROW * (1 - min(rows, MOST_OWED))))


@dataclass(slots=True)
class StageFairness:
    """One stage's leads, its carry, and where its next window of senders begins."""

    leads: Leads
    carry: Carry
    after: str = ""


@dataclass(slots=True)
class Fairness:
    """The fair order's memory of all stages. Leads halve every *half_life* seconds, *percent* of rows go by age alone.

    A charge is closed once: corrected to what was measured, or refunded. What is refunded is no more than what is left
    of the charge.
    """

    half_life: float
    percent: int
    stages: dict[str, StageFairness] = field(default_factory=dict)

    def at(self, stage: str, now: float) -> StageFairness:
        """Return what is known of *stage*."""
        known = self.stages.get(stage)
        if known is None:
            known = self.stages[stage] = StageFairness(Leads(self.half_life, now), Carry(self.percent))
        return known

    def charge(self, held: Held, seconds: float, now: float) -> None:
        """Charge the sender of *held* the stage's average, *seconds*, for what was claimed."""
        self.at(held.stage, now).leads.charge(held.sender, seconds, seconds, now)
        held.charged, held.charged_at = seconds, now

    def correct(self, held: Held, measured: float, now: float) -> None:
        """*held* took *measured* seconds."""
        if held.charged is not None:
            stage = self.stages[held.stage]
            if held.by_age and held.charged > 0:
                stage.carry.cost(measured / held.charged)
            stage.leads.correct(held.sender, held.charged, held.charged_at, measured, now)
            held.charged = None

    def refund(self, held: Held, now: float) -> None:
        """*held* was not run."""
        if held.charged is not None:
            self.stages[held.stage].leads.refund(held.sender, held.charged, held.charged_at, now)
            held.charged = None

    def looked(self, windows: Iterable[Window], at: float) -> None:
        """A claim that was sent at the time *at* has looked at *windows*."""
        for window in windows:
            stage = self.at(window.stage, at)
            stage.after = "" if window.complete else window.last
            if window.complete:
                stage.leads.level(window.lowest, at)
