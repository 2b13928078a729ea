"""All that one dispatcher shows of itself at one moment, for metrics and for whoever asks whether it is well."""

from collections.abc import Mapping
from dataclasses import dataclass

from pepsi.sched.gauges import Gauges
from pepsi.sched.lookout import Sight
from pepsi.sched.meters import Meters


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """*sessions* says of each database session whether it is up. *gauges* are None before mail moves.

    *sight* is what the last look at the queue's table has shown, None before the first.
    """

    epoch: int | None
    sessions: Mapping[str, bool]
    gauges: Gauges | None
    meters: Meters
    sight: Sight | None = None

    @property
    def trouble(self) -> str:
        """Why no mail is dispatched; empty if it is."""
        down = [name for name, up in self.sessions.items() if not up]
        if down:
            return "no database for: " + ", ".join(down)
        if self.gauges is None:
            return "starting, or waiting for the dispatcher's lock"
        if not self.gauges.lock_held:
            return "the dispatcher's lock is not held"
        return "stopping" if self.gauges.stopping else ""
