"""A message on its way, as the simulation follows it."""

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Letter:
    """*group* is the class of its sender; times are of the virtual clock.

    *since* is when the row became pending at its present stage, None once a worker has begun with it there; *before* is
    how many rows waited there by then. *service*
    is how long that stage is to work on it, drawn there if None.
    """

    number: int
    sender: str
    group: str
    arrived: float
    since: float | None
    before: int
    service: float | None = None
