"""Whether a message waits longer than it may: until those before it are done at the rate that is reserved. Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arrived:
    """One message: when it was committed, begun and done, in seconds."""

    committed: float
    begun: float
    done: float


def worst_wait(messages: Sequence[Arrived], reserved: float) -> float:
    """Return the longest wait as a part of what it may be.

    That is the number of rows at the stage when it came, itself among them, over the *reserved* part of the rate at
    which messages were done. Of those that came together the order is unknown, so that all of them count.
    """
    span = max(each.done for each in messages) - min(each.begun for each in messages)
    rate = reserved * len(messages) / span
    came = sorted(each.committed for each in messages)
    done = sorted(each.done for each in messages)
    return max(
        (each.begun - each.committed) * rate / (bisect_right(came, each.committed) - bisect_right(done, each.committed))
        for each in messages
    )
