"""Keeps one worker of a slow stage free for senders that come now and then.

Where a message takes long, whoever has much mail waiting has all workers at work, and however little somebody else
sends would wait until one of them is done. So the last free worker goes only to a sender that has nothing at work
there, as long as others than those at work come now and then. A sender that is alone gets all workers.
"""

from collections.abc import Container
from dataclasses import dataclass, field

LONGEST = 60.0
"""Seconds that a worker is kept free for whoever came last. It is idle meanwhile, so that where use is remembered for
a day a single message would cost a stage a worker for as long."""


@dataclass(slots=True)
class Reserve:
    """Remembers who was seen at one stage during the last *span* seconds, or LONGEST if that is shorter."""

    span: float
    seen: dict[str, float] = field(default_factory=dict)
    """When, whoever was seen last at the end."""

    def note(self, sender: str, workers: int, now: float) -> None:
        """Mail of *sender* was claimed. The stage may have *workers*: so many others can be at work at most."""
        self.seen.pop(sender, None)
        self.seen[sender] = now
        while len(self.seen) > workers + 1:
            del self.seen[next(iter(self.seen))]

    def wanted(self, at_work: Container[str], now: float) -> bool:
        """Whether somebody may come who has nothing at work."""
        span = min(self.span, LONGEST)
        return any(now < seen + span and sender not in at_work for sender, seen in self.seen.items())
