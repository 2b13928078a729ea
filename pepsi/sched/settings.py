"""The part of the dispatcher's configuration that its decisions depend on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The dispatcher's own settings, in seconds. With *trace* each message's steps are noted.

    *fair*: senders take turns. What one has used is halved each *fair_half_life*, and *fair_fifo_percent* of the rows
    are the oldest ones whoever sent them.
    """

    worker_idle_timeout: float = 5.0
    poll_interval: float = 30.0
    stats_interval: float = 60.0
    stop_time: float = 25.0
    fair: bool = True
    fair_half_life: float = 60.0
    fair_fifo_percent: int = 10
    trace: bool = False
