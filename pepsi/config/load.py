"""Finds the configuration file and loads it, with all that is wrong in it told at once."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

from pepsi.config import graph, inifile, values
from pepsi.config.ingress_options import Ingress
from pepsi.config.option import declared
from pepsi.config.options import Dispatch, Pepsi, Postgres, StageOptions
from pepsi.config.section import NO_SUCH_KEY, Entry, Problem, RawSection, nearest, parse_section, shortened
from pepsi.errors import ConfigError
from pepsi.model.stage import StageSpec

T = TypeVar("T")

VARIABLE = "PEPSI_CONF"
SYSTEM_FILE = Path("/etc/pepsi/pepsi.conf")
STAGE_PREFIX = "stage-"
OVERLAY = "pepsi.config_override"
SECTIONS: Mapping[str, type] = MappingProxyType(
    {"pepsi": Pepsi, "pepsi-postgres": Postgres, "pepsi-dispatch": Dispatch, "pepsi-ingress": Ingress}
)
"""The sections that are no stages, and what declares their keys."""

MOST_PROBLEMS = 100
"""How many errors are told at most, for a file that is no configuration at all."""

ALMOST_EQUAL = 0.88
"""How alike a stage's own key and a common one must be for a warning. Only the worker knows the stage's own keys, so
MAX_MESSAGE_SIZE must not be taken for a MAX_MESSAGES gone wrong."""

_HOMES = {option.key: name for name, cls in SECTIONS.items() for option in declared(cls)}
_COMMON_KEYS = tuple(option.key for option in declared(StageOptions))


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSection:
    """A stage: what the dispatcher knows of it, and its section as it was written, overlay included."""

    name: str
    spec: StageSpec
    raw: RawSection


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What every program can read of a configuration, whatever the state of its stages. *path* is absolute."""

    path: Path
    pepsi: Pepsi
    postgres: Postgres
    dispatch: Dispatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Base):
    """A whole configuration without an error in it. *stages* are by the name of the stage."""

    ingress: Ingress
    stages: Mapping[str, StageSection]
    warnings: tuple[str, ...] = ()

    @property
    def specs(self) -> dict[str, StageSpec]:
        """What the dispatcher knows of each stage, by its name."""
        return {name: section.spec for name, section in self.stages.items()}


def locate(
    argument: str | None,
    environ: Mapping[str, str],
    *,
    directory: Path = Path(),
    system_file: Path = SYSTEM_FILE,
) -> Path:
    """Return the configuration file to read. Raises ConfigError if there is none where one is searched for.

    The first of: *argument* (of ``-c``), $PEPSI_CONF, ``pepsi.conf`` in *directory*, ``~/.config/pepsi/pepsi.conf``,
    *system_file*. The first two need not exist: what was asked for is never passed over for something else.
    """
    if argument is not None:
        return Path(argument)
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE])
    places = [directory / "pepsi.conf", system_file]
    if environ.get("HOME"):
        places.insert(1, Path(environ["HOME"], ".config/pepsi/pepsi.conf"))
    for place in places:
        # Not Path.is_file: it raises where a directory on the way may not be searched, and then the next one counts.
        if os.path.exists(place):  # noqa: PTH110
            return place
    searched = ", ".join(str(place) for place in places)
    raise ConfigError(f"there is no configuration file at any of {searched}; name one with -c or ${VARIABLE}")


OwnKeys = Callable[[RawSection], list[Problem] | None]
"""Returns what is wrong with a stage's own keys in its section, or None if it does not know the stage."""


def unknown_to_us(section: RawSection) -> None:
    """Know no stage: what is left to whoever may not import one."""


def load(
    path: Path,
    *,
    overlay: Iterable[tuple[str, str, str]] = (),
    overlay_name: str = OVERLAY,
    machine: str | None = None,
    own_keys: OwnKeys = unknown_to_us,
) -> Config:
    """Return the configuration in the file at *path*. Raises ConfigError with all that is wrong, one error a line.

    *overlay* is rows of section, key and value that are layered on the stages of the file; an error in them names
    *overlay_name* for the file. *machine* is the host name of this machine, if it is not to be asked. *own_keys* looks
    at the keys that only a stage knows.
    """
    return _Loading(content_of(path), path, machine, own_keys).config(overlay, overlay_name)


def load_base(path: Path, *, machine: str | None = None) -> Base:
    """Return what the file at *path* says beside its stages: all that is needed to read the overlay. As `load`."""
    return _Loading(content_of(path), path, machine).base()


def load_text(
    text: str,
    name: str = "pepsi.conf",
    *,
    overlay: Iterable[tuple[str, str, str]] = (),
    overlay_name: str = OVERLAY,
    machine: str = "mail.example.org",
) -> Config:
    """Return the configuration that *text* is, as if it were in a file called *name*. As `load`."""
    return _Loading(text.encode(), Path(name), machine).config(overlay, overlay_name)


def content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error


class _Loading:
    """One file on its way to a configuration; gathers what is wrong."""

    def __init__(self, data: bytes, path: Path, machine: str | None, own_keys: OwnKeys = unknown_to_us) -> None:
        self._path = path
        self._own_keys = own_keys
        self._directory = path.absolute().parent
        self._machine = machine or os.uname().nodename
        self._sections, self._problems = inifile.read(data, str(path), self._directory)
        self._problems += [problem for section in self._sections.values() for problem in _misnamed(section)]
        self._pepsi = self._parsed("pepsi", Pepsi, computed=self._computed())
        self._postgres = self._parsed("pepsi-postgres", Postgres)
        self._dispatch = self._parsed("pepsi-dispatch", Dispatch)

    def base(self) -> Base:
        """Return the sections that every program needs. Raises ConfigError."""
        self._raise()
        return Base(path=self._path.absolute(), pepsi=self._pepsi, postgres=self._postgres, dispatch=self._dispatch)

    def config(self, overlay: Iterable[tuple[str, str, str]], origin: str) -> Config:
        """Return all of it. Raises ConfigError."""
        ingress = self._parsed("pepsi-ingress", Ingress)
        raw, warnings = self._layered(overlay, origin)
        options = {name: self._checked(StageOptions, section, ignore_unknown=True) for name, section in raw.items()}
        errors, doubts = graph.check(self._raw("pepsi-ingress"), raw)
        self._problems += errors
        for section in raw.values():
            own = self._own_keys(section)
            if own is None:
                # A stage that only its worker knows: what is nearly a common key may be one of its own.
                warnings += _misspelt(section)
            else:
                self._problems += [problem for problem in own if problem.key not in _COMMON_KEYS]
        self._raise()
        return Config(
            path=self._path.absolute(),
            pepsi=self._pepsi,
            postgres=self._postgres,
            dispatch=self._dispatch,
            ingress=ingress,
            stages=MappingProxyType(
                {name: StageSection(name=name, spec=self._spec(name, options[name]), raw=raw[name]) for name in raw}
            ),
            warnings=tuple(str(problem) for problem in [*warnings, *doubts]),
        )

    def _computed(self) -> dict[str, str]:
        """Return the defaults of ``[pepsi]`` that depend on this machine."""
        section = self._raw("pepsi")
        written = section.entries.get("HOSTNAME")
        try:
            name = values.parse_host(self._machine if written is None else written.value)
        except ValueError:
            name = "localhost"
            if written is None:
                expected = f"the machine calls itself {shortened(self._machine)}, which is no host name"
                self._problems.append(
                    Problem(
                        file=section.file,
                        line=section.line,
                        section=section.name,
                        key="HOSTNAME",
                        expected=expected,
                        hint="set this key",
                    )
                )
        return {"HOSTNAME": name, "POSTMASTER": f"postmaster@{name}"}

    def _raw(self, name: str) -> RawSection:
        return self._sections.get(name) or RawSection(name, None, {}, str(self._path), self._directory)

    def _parsed(self, name: str, cls: type[T], computed: Mapping[str, Any] | None = None) -> T:
        return self._checked(cls, self._raw(name), computed=computed)

    def _checked(self, cls: type[T], section: RawSection, **keywords: Any) -> T:
        value, problems = parse_section(cls, section, **keywords)
        self._problems += [_at_home(problem) for problem in problems]
        return cast(T, value)  # None only after a problem, and then `_raise` comes before anybody looks at it

    def _layered(
        self, overlay: Iterable[tuple[str, str, str]], origin: str
    ) -> tuple[dict[str, RawSection], list[Problem]]:
        """Return the sections of stages with *overlay* upon them, by the stage's name, and what was left out of it."""
        sections = {name: section for name, section in self._sections.items() if stage_of(name)}
        ignored = []
        for name, key, value in overlay:
            entry = Entry(value.strip(), origin, None)
            if not stage_of(name):
                ignored.append(entry.problem(name, key, "ignored: only sections of stages can be overridden"))
            elif not inifile.KEY.fullmatch(key):
                self._problems.append(entry.problem(name, key, "keys are written in upper case"))
            else:
                under = sections.get(name) or RawSection(name, None, {}, origin, self._directory)
                sections[name] = dataclasses.replace(under, entries={**under.entries, key: entry})
        return {stage_of(name): section for name, section in sections.items()}, ignored

    def _spec(self, name: str, options: StageOptions) -> StageSpec:
        return StageSpec(
            name=name,
            program=options.program,
            next_stage=options.next_stage,
            parallelism=options.parallelism,
            queue_limit=options.queue_limit,
            max_messages=options.max_messages,
            max_runtime=self._dispatch.max_runtime if options.max_runtime is None else options.max_runtime,
            max_lifetime=options.max_lifetime,
            bounce_stage=options.bounce_stage,
            fusion=options.fusion,
        )

    def _raise(self) -> None:
        if not self._problems:
            return
        self._problems.sort(key=lambda problem: (problem.line is None, problem.line or 0))
        lines = [str(problem) for problem in self._problems[:MOST_PROBLEMS]]
        if len(self._problems) > MOST_PROBLEMS:
            lines.append(f"{self._path}: and {len(self._problems) - MOST_PROBLEMS} more errors")
        raise ConfigError("\n".join(lines))


def stage_of(section: str) -> str:
    """Return the name of the stage whose section is called *section*; empty if it is no stage's."""
    name = section.removeprefix(STAGE_PREFIX)
    return name if name != section and values.is_stage(name) else ""


def _misnamed(section: RawSection) -> list[Problem]:
    if section.name in SECTIONS or stage_of(section.name):
        return []
    first, dash, rest = section.name.partition("-")
    if first + dash == STAGE_PREFIX:
        hint: str | None = f"a stage's name has 1 to {values.NAME_LIMIT} letters, digits, dots, dashes, underscores"
    elif dash and nearest(first, ["stage"]):
        hint = f"did you mean stage-{rest}?"
    else:
        hint = nearest(section.name, SECTIONS) or f"a stage is [stage-{section.name}]"
    expected = "no such section"
    return [Problem(file=section.file, line=section.line, section=section.name, expected=expected, hint=hint)]


def _at_home(problem: Problem) -> Problem:
    """Return *problem* with the hint where its key belongs, if there is such a key in another section."""
    home = _HOMES.get(problem.key or "")
    if problem.expected != NO_SUCH_KEY or home is None:
        return problem
    return dataclasses.replace(problem, hint=f"it belongs to [{home}]")


def _misspelt(section: RawSection) -> list[Problem]:
    """Warn of keys that are almost one that every stage has."""
    return [
        entry.problem(section.name, key, "not a key that every stage has", hint)
        for key, entry in section.entries.items()
        if key not in _COMMON_KEYS and (hint := nearest(key, _COMMON_KEYS, ALMOST_EQUAL))
    ]
