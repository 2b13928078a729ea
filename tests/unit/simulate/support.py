"""Simulations in one call."""

import random
from collections.abc import Iterable
from typing import Any

from pepsi.model.stage import StageSpec
from pepsi.sched.engine import Settings
from pepsi.simulate import distribution
from pepsi.simulate.arrival import Arrival
from pepsi.simulate.model import Costs, Model, StageModel
from pepsi.simulate.records import Records
from pepsi.simulate.scenarios import SCENARIOS
from pepsi.simulate.simulation import Simulation


def stage(name: str = "a", service: str = "20ms", *, spec: dict[str, Any] | None = None, **values: Any) -> StageModel:
    return StageModel(
        spec=StageSpec(name=name, program=name, **(spec or {})), service=distribution.parse(service), **values
    )


def model(*stages: StageModel, costs: Costs | None = None, connections: int | None = None) -> Model:
    known = {each.spec.name: each for each in stages or (stage(),)}
    return Model(stages=known, entry=next(iter(known)), costs=costs or Costs(), connections=connections)


def simulation(
    played: Model,
    arrivals: Iterable[Arrival],
    *,
    seed: int = 1,
    records: Records | None = None,
    **settings: Any,
) -> tuple[Simulation, Records]:
    kept = records or Records(played.stages)
    chance = random.Random(seed).random
    return Simulation(played, Settings(**settings), arrivals, lambda sender: "all", kept, chance), kept


def run(played: Model, arrivals: Iterable[Arrival], **more: Any) -> tuple[Simulation, Records]:
    """Play all of it."""
    made, records = simulation(played, arrivals, **more)
    for _ in made.play():
        pass
    return made, records


def scenario(name: str, played: Model, *, seed: int = 1, fair: bool = True, **size: Any) -> tuple[Simulation, Records]:
    """Play a scenario."""
    told = SCENARIOS[name]
    arrivals = told.play(told.sized(**size), 0.020, random.Random(seed + 1).random)
    return run(played, arrivals, seed=seed, fair=fair)
