"""What is different between two configurations, for the log: one line a key."""

from collections.abc import Iterator, Mapping
from typing import Any

from pepsi.config.load import STAGE_PREFIX, Config
from pepsi.config.option import Declared, declared
from pepsi.config.section import NOT_SHOWN, RawSection, discreet

UNSET = "(not set)"


def stages(old: Config, new: Config) -> Iterator[str]:
    """Yield what is different in the sections of stages. What may be a secret is not shown."""
    for name in sorted(old.stages.keys() | new.stages.keys()):
        before, after = old.stages.get(name), new.stages.get(name)
        if before is None:
            yield f"[{STAGE_PREFIX}{name}] is new"
        elif after is None:
            yield f"[{STAGE_PREFIX}{name}] is gone"
        else:
            yield from _keys(before.raw, after.raw)


def settings(section: str, old: object, new: object) -> Iterator[str]:
    """Yield what is different between two values of the class that declares the keys of *section*."""
    for option in declared(type(old)):
        values = [getattr(value, option.field) for value in (old, new)]
        if values[0] != values[1]:
            before, after = (_chosen(option, value) for value in values)
            yield f"[{section}] {option.key}: {before} -> {after}"


def _keys(old: RawSection, new: RawSection) -> Iterator[str]:
    before = {key: entry.value for key, entry in old.entries.items()}
    after = {key: entry.value for key, entry in new.entries.items()}
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            yield f"[{new.name}] {key}: {_written(key, before)} -> {_written(key, after)}"


def _written(key: str, values: Mapping[str, str]) -> str:
    return discreet(key, values[key]) if key in values else UNSET


def _chosen(option: Declared, value: Any) -> str:
    if value is None:
        return UNSET
    return NOT_SHOWN if option.concealed else discreet(option.key, option.kind.render(value))
