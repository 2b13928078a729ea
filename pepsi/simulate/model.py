"""What is simulated: how stages behave, and what the world around the dispatcher costs."""

from collections.abc import Mapping
from dataclasses import dataclass

from pepsi.model.stage import StageSpec
from pepsi.simulate.distribution import Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How likely each message is to go wrong, from 0 to 1.

    *fail*: the stage refuses it; *crash*: its worker dies; *hang*: its worker never answers; *busy*: the worker finds
    no database connection and answers 75.
    """

    fail: float = 0.0
    crash: float = 0.0
    hang: float = 0.0
    busy: float = 0.0

    @property
    def total(self) -> float:
        """How likely anything is to go wrong."""
        return self.fail + self.crash + self.hang + self.busy


@dataclass(frozen=True, slots=True, kw_only=True)
class StageModel:
    """A stage: *spec* as the dispatcher knows it, and how its workers behave.

    A worker works for *service* on a message. With *batch* it takes all that it holds at once, and works so many
    seconds more for each such pass. *ways* are the stages that follow, None for the end, each with its share of the
    messages.
    """

    spec: StageSpec
    service: Distribution
    batch: float | None = None
    faults: Faults = Faults()
    ways: tuple[tuple[str | None, float], ...] = ((None, 1.0),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Seconds that things take around the stages.

    *claim*: a claim or another statement of the dispatcher; *turn*: one turn of the dispatcher, in which all that
    happened since the last is taken in; *start*: until a worker is ready; *end*: until a worker is gone that was asked
    to end, or killed.
    """

    claim: float = 0.0015
    turn: float = 0.0002
    start: float = 0.25
    end: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """All of it.

    *entry* is the stage at which messages come in; *connections* is for how many workers the database has room, None
    for any number.
    """

    stages: Mapping[str, StageModel]
    entry: str
    costs: Costs = Costs()
    connections: int | None = None
