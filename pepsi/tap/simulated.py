"""What ``pepsi-simulate`` is to simulate: the configuration, and what the command line says of its stages."""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pepsi.config.graph import edges
from pepsi.config.load import STAGE_PREFIX, VARIABLE, Config, load, load_text, locate
from pepsi.config.values import parse_duration, parse_number
from pepsi.errors import ConfigError, SimulationError
from pepsi.simulate import distribution
from pepsi.simulate.distribution import Distribution
from pepsi.simulate.model import Costs, Faults, Model, StageModel
from pepsi.worker.section import problems_of

SERVICE = Distribution("exp", 0.020)
"""How long a stage works on a message if nobody says so."""
STAND_IN = """\
[pepsi-postgres]
DSN = embedded
[pepsi-ingress]
ENTRY_STAGE = work
[stage-work]
PROGRAM = pepsi-stage-discard
"""
"""What is simulated where there is no configuration."""
SET = "--set"
"""What stands in an error in place of the file for a key that was set by it."""
MOST_FAULTY = 0.9
"""Above that, what is tried again and again would never come to an end."""
FAULTS: Mapping[str, str] = {
    "fail": "share of messages that the stage refuses",
    "crash": "share of messages that make a worker crash",
    "hang": "share of messages that make a worker hang",
    "busy": "share of messages for which a worker finds no database connection (75)",
}
"""Options, each with what it means."""

T = TypeVar("T")


def configuration(arguments: argparse.Namespace) -> Config:
    """Return the configuration with what ``--set`` says instead. Raises ConfigError, SimulationError."""
    overlay = [_override(text) for text in arguments.set]
    try:
        path = locate(arguments.config, os.environ)
    except ConfigError:
        if arguments.config is not None or VARIABLE in os.environ:
            raise
        return load_text(STAND_IN, overlay=overlay, overlay_name=SET)
    return load(path, overlay=overlay, overlay_name=SET, own_keys=problems_of)


def _override(text: str) -> tuple[str, str, str]:
    place, equals, value = text.partition("=")
    stage, dot, key = place.rpartition(".")
    if not equals or not dot:
        raise SimulationError(f"--set {text}: expected STAGE.KEY=VALUE, such as relay.PARALLELISM=16")
    return f"{STAGE_PREFIX}{stage.removeprefix(STAGE_PREFIX)}", key, value


def model(arguments: argparse.Namespace, config: Config) -> Model:
    """Return the stages of *config*, behaving as *arguments* say. Raises SimulationError."""
    specs = config.specs
    services = _by_stage(arguments.service, "service", specs, distribution.parse)
    batches = _by_stage(arguments.batch, "batch", specs, parse_duration)
    shares = {fault: _by_stage(getattr(arguments, fault), fault, specs, share) for fault in FAULTS}
    ways = _ways(arguments, config)
    stages = {}
    for name, spec in specs.items():
        faults = Faults(**{fault: shares[fault].get(name, 0.0) for fault in FAULTS})
        if faults.total > MOST_FAULTY:
            raise SimulationError(f"stage {name}: more than {MOST_FAULTY:g} of all messages go wrong; lower the shares")
        stages[name] = StageModel(
            spec=spec,
            service=services.get(name, SERVICE),
            batch=batches.get(name),
            faults=faults,
            ways=ways[name],
        )
    if not stages:
        raise SimulationError(f"{config.path} has no stage; write a section [stage-NAME]")
    entry = arguments.entry or config.ingress.entry_stage
    if entry not in stages:
        raise SimulationError(f"--entry {entry}: no such stage; there are {', '.join(stages)}")
    costs = Costs(claim=arguments.claim_time, turn=arguments.turn_time, start=arguments.start_time)
    return Model(stages=stages, entry=entry, costs=costs, connections=arguments.connections)


def _ways(arguments: argparse.Namespace, config: Config) -> dict[str, tuple[tuple[str | None, float], ...]]:
    """Return where mail goes from each stage, and with which share of it."""
    onward: dict[str, dict[str | None, float]] = {name: {} for name in config.stages}
    for edge in edges({name: section.raw for name, section in config.stages.items()}):
        if edge.is_onward:
            onward[edge.source][edge.target] = 1.0
    said = _by_stage(arguments.way, "way", config.stages, _way)
    for stage, ways in said.items():
        for target, _ in ways:
            if target is not None and target not in config.stages:
                raise SimulationError(f"--way {stage}: no stage {target!r}; there are {', '.join(config.stages)}")
    return {name: said.get(name) or tuple(onward[name].items()) or ((None, 1.0),) for name in config.stages}


def _way(text: str) -> tuple[tuple[str | None, float], ...]:
    ways = []
    for part in text.split(","):
        target, _, share = part.partition(":")
        ways.append((None if target == "end" else target, parse_number(share or "1")))
    if any(share < 0 for _, share in ways) or not sum(share for _, share in ways):
        raise ValueError("expected stages with shares, such as deliver:7,relay:3")
    return tuple(ways)


def _by_stage(
    texts: Sequence[str], option: str, stages: Mapping[str, object], parse: Callable[[str], T]
) -> dict[str, T]:
    """Return what *texts* of the form STAGE=VALUE say, by stage. Raises SimulationError."""
    found = {}
    for text in texts:
        stage, equals, value = text.partition("=")
        if not equals:
            raise SimulationError(f"--{option} {text}: expected STAGE=VALUE; stages are {', '.join(stages)}")
        if stage not in stages:
            raise SimulationError(f"--{option} {text}: no stage {stage!r}; there are {', '.join(stages)}")
        try:
            found[stage] = parse(value)
        except ValueError as error:
            raise SimulationError(f"--{option} {text}: {error}") from None
    return found


def share(text: str) -> float:
    """Return the part of one that *text* is: ``0.01`` or ``1%``. Raises ValueError."""
    percent = text.endswith("%")
    value = parse_number(text.removesuffix("%")) / (100 if percent else 1)
    if not 0 < value < 1:
        raise ValueError("expected a share above 0 and below 1, such as 0.01 or 1%")
    return value
