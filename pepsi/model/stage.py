"""What the dispatcher knows of a stage."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpec:
    """The part of a ``[stage-NAME]`` section that every stage has. Times are in seconds."""

    name: str
    program: str
    next_stage: str | None = None
    parallelism: int = 4
    queue_limit: int = 4
    max_messages: int = 1000
    max_runtime: float = 300.0
    max_lifetime: float = 432_000.0
    bounce_stage: str | None = None
    fusion: bool | None = None

    @property
    def capacity(self) -> int:
        """How many ids may be in flight at the stage at once."""
        return self.parallelism * self.queue_limit
