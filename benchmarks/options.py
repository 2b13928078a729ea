"""What a benchmark is told on the command line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """*full* asks for the long form."""

    full: bool = False
    queue_limit: int = 4
