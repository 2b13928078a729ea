"""The graph of stages: what leads where, and what is wrong with the whole of it.

Every key of a stage's section that ends in ``_STAGE`` names a stage to which messages can go, and every such key of
``[pepsi-ingress]`` one at which they begin.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pepsi.config.option import declared
from pepsi.config.options import StageOptions
from pepsi.config.section import Entry, Problem, RawSection, nearest
from pepsi.config.values import is_stage

EDGE = "_STAGE"
BOUNCE_STAGE = "BOUNCE_STAGE"

_COMMON_KEYS = frozenset(option.key for option in declared(StageOptions))


@dataclass(frozen=True, slots=True)
class Edge:
    """The *key* of the stage *source* says that messages can go to the stage *target*."""

    source: str
    key: str
    target: str
    entry: Entry

    @property
    def is_onward(self) -> bool:
        """Whether it is the way of messages that the stage is done with, and not of those that it refused."""
        return self.key != BOUNCE_STAGE


def edges(stages: Mapping[str, RawSection]) -> tuple[Edge, ...]:
    """Return what leads where in *stages*, sections by the name of their stage.

    Values that are no names are left out where the parser of the common keys has an error for them.
    """
    return tuple(
        Edge(name, key, entry.value, entry)
        for name, section in stages.items()
        for key, entry in section.entries.items()
        if key.endswith(EDGE) and (key not in _COMMON_KEYS or is_stage(entry.value))
    )


def check(ingress: RawSection, stages: Mapping[str, RawSection]) -> tuple[list[Problem], list[Problem]]:
    """Return errors and warnings. *stages* are sections by the name of their stage."""
    known = edges(stages)
    entrances = {key: entry for key, entry in ingress.entries.items() if key.endswith(EDGE) and is_stage(entry.value)}
    named = [(ingress.name, key, entry.value, entry) for key, entry in entrances.items()]
    named += [(stages[edge.source].name, edge.key, edge.target, edge.entry) for edge in known]
    errors = [
        entry.problem(section, key, "no such stage", _meant(target, stages))
        for section, key, target, entry in named
        if target not in stages
    ]
    if errors or not entrances:
        return errors, []
    return [], [*_unreached(entrances, known, stages), *_endless(known, stages)]


def _unreached(
    entrances: Mapping[str, Entry], known: Iterable[Edge], stages: Mapping[str, RawSection]
) -> list[Problem]:
    ways: dict[str, set[str]] = {}
    for edge in known:
        ways.setdefault(edge.source, set()).add(edge.target)
    reached = _closure({entry.value for entry in entrances.values()}, ways)
    return [
        Problem(
            file=section.file,
            line=section.line,
            section=section.name,
            expected="no message comes here: no stage that messages reach names it",
        )
        for name, section in stages.items()
        if name not in reached
    ]


def _endless(known: Iterable[Edge], stages: Mapping[str, RawSection]) -> list[Problem]:
    """Name each cycle from which no way leads to a stage that ends a message: one without any onward edge."""
    onward: dict[str, Edge] = {}
    back: dict[str, set[str]] = {}
    for edge in known:
        back.setdefault(edge.target, set()).add(edge.source)
        if edge.is_onward:
            onward.setdefault(edge.source, edge)
    ending = _closure({name for name in stages if name not in onward}, back)
    problems = []
    seen: set[str] = set()
    for name in stages:
        path: list[str] = []
        while name not in ending and name not in seen:
            seen.add(name)
            path.append(name)
            name = onward[name].target
        if name in path:
            edge = onward[name]
            cycle = " -> ".join([*path[path.index(name) :], name])
            expected = f"no message ever leaves this cycle: {cycle}"
            problems.append(edge.entry.problem(stages[name].name, edge.key, expected))
    return problems


def _closure(start: set[str], ways: Mapping[str, set[str]]) -> set[str]:
    reached = set(start)
    fresh = set(start)
    while fresh:
        fresh = {target for name in fresh for target in ways.get(name, ())} - reached
        reached |= fresh
    return reached


def _meant(target: str, stages: Mapping[str, RawSection]) -> str | None:
    bare = target.removeprefix("stage-")
    return f"write {bare}" if bare in stages else nearest(target, stages)
