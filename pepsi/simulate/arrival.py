"""One message that comes in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message of *sender*, *time* seconds after the beginning. *group* is the class of senders it is reported under.

    *stage* is where it comes in, the usual stage if None; *service* is how long that stage works on it, by the stage's
    own distribution if None.
    """

    time: float
    sender: str
    group: str | None = None
    stage: str | None = None
    service: float | None = None
