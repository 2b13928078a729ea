"""What is to become of each message of a chaos run. Its Subject says so to the workers."""

import enum
import random
from dataclasses import dataclass

SORT, WORK, SEND = "sort", "work", "send"
"""The stages in the order of a message's way: one of Pepsi's own, one on Pepsi's runtime, one of a foreign worker."""
RECORDED = (WORK, SEND)
"""The stages that write down what they do."""


class Deed(enum.Enum):
    """What a message does to its worker."""

    PASS = "pass"  # nothing
    REFUSE = "refuse"  # the stage refuses it, for good
    LATER = "later"  # the stage puts it off once
    PARK = "park"  # it waits once, until somebody releases it
    IO = "io"  # the worker answers once that it has lost its database
    BUSY = "busy"  # the worker answers once that there are too many connections
    CRASH = "crash"  # the worker dies of it, each time


class Ending(enum.Enum):
    """Where a message must end."""

    FINISHED = "finished"
    REFUSED = "refused"
    CRASHED = "crashed"


_DEEDS = (
    (WORK, Deed.REFUSE, 20),
    (WORK, Deed.LATER, 15),
    (WORK, Deed.PARK, 10),
    (WORK, Deed.CRASH, 1),
    (SEND, Deed.REFUSE, 15),
    (SEND, Deed.PARK, 10),
    (SEND, Deed.IO, 5),
    (SEND, Deed.BUSY, 0.05),  # it costs the stage half of its workers for minutes
    (SEND, Deed.CRASH, 1),
)
"""Where, what, and of how many messages in a thousand."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one message. *key* names it before it has an id; *seconds* is how long each stage works on it."""

    key: int
    stage: str = SEND
    deed: Deed = Deed.PASS
    seconds: float = 0.0

    @property
    def subject(self) -> str:
        """The Subject that says all this."""
        return f"{self.key} {self.stage} {self.deed.value} {self.seconds:.4f}"

    @property
    def ending(self) -> Ending:
        """Where it must end."""
        return {Deed.REFUSE: Ending.REFUSED, Deed.CRASH: Ending.CRASHED}.get(self.deed, Ending.FINISHED)

    @property
    def acts_at(self) -> tuple[str, ...]:
        """The recorded stages that act on it before it has ended."""
        return RECORDED if self.ending is Ending.FINISHED else RECORDED[: RECORDED.index(self.stage)]

    def deed_at(self, stage: str) -> Deed:
        """Return what it does at *stage*."""
        return self.deed if stage == self.stage else Deed.PASS


def read(subject: str) -> Plan:
    """Return the plan that *subject* says. Raises ValueError."""
    key, stage, deed, seconds = subject.split(" ")
    return Plan(int(key), stage, Deed(deed), float(seconds))


def draw(key: int, chance: random.Random) -> Plan:
    """Return a plan at random: most messages are quick and pass."""
    seconds = chance.choice((0.0, 0.002, 0.005, 0.01, 0.02))
    if chance.random() < 0.03:
        seconds = chance.uniform(0.2, 1.5)
    lot = chance.uniform(0, 1000)
    for stage, deed, share in _DEEDS:
        lot -= share
        if lot < 0:
            return Plan(key, stage, deed, seconds)
    return Plan(key, SEND, Deed.PASS, seconds)
