"""When the dispatcher looks at the database of its own accord: heartbeats and due rows."""

from dataclasses import dataclass

ASK_INTERVAL = 1.0
"""Seconds between two questions for the next due row. A pause is never shorter, so nothing is late by more."""
FLIP_LIMIT = 1000


@dataclass(slots=True)
class Timetable:
    """Next heartbeat, next due row, next question for it; in seconds of the monotonic clock."""

    poll_interval: float
    beat_at: float
    due_at: float | None = None
    ask_at: float | None = None
    asked_at: float = float("-inf")
    busy: bool = False
    """A question or a flip is under way."""

    def beat(self, now: float) -> bool:
        """Whether the heartbeat has come; the next one is set."""
        if now < self.beat_at:
            return False
        self.beat_at = now + self.poll_interval
        return True

    def want_ask(self, now: float) -> None:
        """The next due time may have changed: ask for it, but not too often."""
        if self.ask_at is None:
            self.ask_at = max(now, self.asked_at + ASK_INTERVAL)

    def paused(self, now: float, delay: float) -> None:
        """A row was paused by ourselves for *delay* seconds."""
        self.due_at = now + delay if self.due_at is None else min(self.due_at, now + delay)

    def wants_flip(self, now: float) -> bool:
        """Whether rows are due."""
        return not self.busy and self.due_at is not None and now >= self.due_at

    def wants_ask(self, now: float) -> bool:
        """Whether the next due time should be asked for."""
        return not self.busy and self.ask_at is not None and now >= self.ask_at

    def asking(self, now: float) -> None:
        """The question goes out."""
        self.busy, self.ask_at, self.asked_at = True, None, now

    def flipping(self) -> None:
        """The flip goes out."""
        self.busy, self.due_at = True, None

    def answered(self, now: float, delay: float | None) -> None:
        """The next row is due in *delay* seconds, or never."""
        self.busy = False
        self.due_at = None if delay is None else now + max(0.0, delay)

    def flipped(self, now: float, *, more: bool) -> None:
        """Due rows were flipped; with *more*, others are due as well."""
        self.busy = False
        self.want_ask(now)
        if more:
            self.due_at = now

    def failed(self, now: float) -> None:
        """The question or the flip did not come back: ask again."""
        self.busy = False
        self.want_ask(now)

    def next_due(self) -> float:
        """Return when to flip or to ask, infinity while one of the two is under way or nothing is due."""
        times = [time for time in (self.due_at, self.ask_at) if time is not None]
        return float("inf") if self.busy else min(times, default=float("inf"))
