"""A worker process as a model."""

from collections import deque
from dataclasses import dataclass, field

from pepsi.simulate.model import StageModel


@dataclass(slots=True, eq=False)
class Child:
    """A worker. *line* is what it has been handed and has not answered, the oldest first."""

    number: int
    stage: StageModel
    started: float
    line: deque[int] = field(default_factory=deque)
    ready: bool = False
    busy: bool = False
    """Whether it works on the head of its line. One that hangs does for ever."""
    asked: bool = False
    """Whether it is to end when its line is empty."""
    stopped: bool = False
    """Whether it is to end after the message in hand."""
    dead: bool = False
    """Whatever was to happen to it does not."""
