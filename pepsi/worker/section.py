"""The options of a stage, from the section that it works for."""

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pepsi.config.load import STAGE_PREFIX, Config
from pepsi.config.option import declared
from pepsi.config.options import Dispatch, Pepsi, StageOptions
from pepsi.config.section import Entry, Problem, RawSection, nearest, parse_section
from pepsi.config.values import render_duration
from pepsi.errors import ConfigError
from pepsi.stages.api import Stage
from pepsi.stages.registry import find, names

COMMAND_LINE = "-o"
"""What stands in an error in place of the file for a key that was set by -o."""


def options_of(
    stage: type[Stage[Any]], config: Config, name: str, given: Mapping[str, str] | None = None
) -> StageOptions:
    """Return the options of *stage* that the section of the stage *name* sets, and *given* over it.

    A stage can declare keys of ``[pepsi]`` as computed ones under the same name: their default is what is set there.
    MAX_RUNTIME is the dispatcher's if the section has none.
    Raises ConfigError with all that is wrong, one error a line.
    """
    section = config.stages.get(name)
    if section is None:
        hint = nearest(name, config.stages)
        raise ConfigError(f"{config.path}: there is no section [{STAGE_PREFIX}{name}]" + (f"; {hint}" if hint else ""))
    shared = {option.key: getattr(config.pepsi, option.field) for option in declared(Pepsi)}
    # A stage that waits for others must know when its worker would be killed.
    runtime = Entry(render_duration(section.spec.max_runtime), section.raw.file, section.raw.line)
    raw = replace(section.raw, entries={"MAX_RUNTIME": runtime, **section.raw.entries})
    return _parsed(stage, raw, given or {}, shared)


def options_alone(stage: type[Stage[Any]], given: Mapping[str, str]) -> StageOptions:
    """Return the options of *stage* that *given* sets, without any file. Raises ConfigError."""
    usual = {"PROGRAM": f"pepsi-stage {stage.name}", "MAX_RUNTIME": render_duration(Dispatch().max_runtime)}
    entries = {key: _entry(value) for key, value in usual.items()}
    section = RawSection(f"{STAGE_PREFIX}{stage.name}", None, entries, COMMAND_LINE, Path.cwd())
    machine = os.uname().nodename
    return _parsed(stage, section, given, {"HOSTNAME": machine, "POSTMASTER": f"postmaster@{machine}"})


def problems_of(section: RawSection) -> list[Problem] | None:
    """Return what is wrong in *section* by the declarations of the stage that its PROGRAM runs.

    None if PROGRAM is not the program of a stage that is installed here.
    """
    stage = stage_that_runs(section)
    return None if stage is None else problems_by(stage.Options, section)


def problems_by(options: type[StageOptions], section: RawSection) -> list[Problem]:
    """Return what is wrong in *section* where *options* are its declarations."""
    computed: dict[str, Any] = {option.key: "" for option in declared(options) if option.computed}
    return parse_section(options, section, computed=computed)[1]


def stage_that_runs(section: RawSection) -> type[Stage[Any]] | None:
    """Return the stage that the PROGRAM of *section* runs; None if it is not one that is installed here."""
    program = section.entries.get("PROGRAM")
    name = "" if program is None else _name_of(program.value)
    return find(name) if name in names() else None


def sections_that_run(stage: type[Stage[Any]], config: Config) -> tuple[str, ...]:
    """Return the names of the stages of *config* whose PROGRAM is that of *stage*."""
    return tuple(name for name, section in config.stages.items() if _name_of(section.spec.program) == stage.name)


def installed_here(program: str) -> str:
    """Return the name of the stage that *program* runs from this very installation, empty if it is anything else.

    A program that is not searched for on PATH can be of another release, and one with arguments can be told anything.
    """
    command, *rest = shlex.split(program) or [""]
    directory, _, name = command.rpartition("/")
    words = [name, *rest]
    if (directory and directory != str(Path(sys.executable).parent)) or len(words) != 1 + (name == "pepsi-stage"):
        return ""
    return _name_of(shlex.join(words))


def _name_of(program: str) -> str:
    """Return the name of the stage that *program* runs, empty if it is no program of ours."""
    try:
        first, *rest = shlex.split(program)
    except ValueError:
        return ""
    command = Path(first).name
    if command == "pepsi-stage":
        return rest[0] if rest else ""
    return command.removeprefix("pepsi-stage-") if command.startswith("pepsi-stage-") else ""


def _parsed(
    stage: type[Stage[Any]], section: RawSection, given: Mapping[str, str], shared: Mapping[str, Any]
) -> StageOptions:
    entries = {**section.entries, **{key: _entry(value) for key, value in given.items()}}
    whole = RawSection(section.name, section.line, entries, section.file, section.directory)
    computed = {option.key for option in declared(stage.Options) if option.computed} & shared.keys()
    options, problems = parse_section(stage.Options, whole, computed={key: shared[key] for key in computed})
    if options is None:
        raise ConfigError("\n".join(map(str, problems)))
    return options


def _entry(value: str) -> Entry:
    return Entry(value, COMMAND_LINE, None)
