"""What the dispatcher's engine is told of its configuration, in one place for whoever runs one."""

from pepsi.config.options import Dispatch
from pepsi.sched.settings import Settings


def engine_settings(own: Dispatch, *, trace: bool) -> Settings:
    """Return the settings that ``[pepsi-dispatch]`` asks for. *trace*: each message's steps are to be noted."""
    return Settings(
        worker_idle_timeout=own.worker_idle_timeout,
        poll_interval=own.poll_interval,
        stats_interval=own.stats_interval,
        fair=own.fair_scheduling,
        fair_half_life=own.fair_half_life,
        fair_fifo_percent=own.fair_fifo_percent,
        trace=trace,
    )
