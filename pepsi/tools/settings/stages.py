"""What is known of the stage that something is set for: its section, and which keys can be set."""

from dataclasses import dataclass, replace
from typing import Any

from pepsi.config.access import Access
from pepsi.config.inifile import KEY
from pepsi.config.load import OVERLAY, STAGE_PREFIX
from pepsi.config.option import Declared, declared
from pepsi.config.section import Entry, Problem, RawSection, nearest
from pepsi.db.overlay import overlay
from pepsi.errors import StageError
from pepsi.stages.api import Stage
from pepsi.tools.desk.command import Desk, QueueError, Rejected
from pepsi.tools.desk.stages import known_stages
from pepsi.worker.layers import overridable
from pepsi.worker.section import problems_by, stage_that_runs


@dataclass(frozen=True, slots=True)
class Known:
    """A section as it is with what is set in the database for all, and the stage that it runs, None if that is unknown.

    *why* says why it is unknown.
    """

    section: RawSection
    stage: type[Stage[Any]] | None
    why: str

    @property
    def options(self) -> dict[str, Declared]:
        """The keys that can be set for single correspondents, by their names."""
        if self.stage is None:
            return {}
        keys = overridable(self.stage.Options)
        return {option.key: option for option in declared(self.stage.Options) if option.key in keys}

    def concealed(self, key: str) -> bool:
        """Whether the value of *key* is not to be shown."""
        found = self.options.get(key)
        return found is not None and found.concealed

    def problems(self, given: dict[str, str]) -> list[Problem]:
        """Return what is wrong in the section because of *given* upon it. What was wrong before is not told."""
        if self.stage is None:
            return []
        before = {str(problem) for problem in problems_by(self.stage.Options, self.section)}
        entries = {
            **self.section.entries,
            **{key: Entry(value, "pepsi.settings", None) for key, value in given.items()},
        }
        after = problems_by(self.stage.Options, replace(self.section, entries=entries))
        return [problem for problem in after if str(problem) not in before]


async def known(desk: Desk, name: str) -> Known:
    """Return what is known of the stage *name*."""
    heading = f"{STAGE_PREFIX}{name}"
    section = desk.access.sections.get(name) or RawSection(heading, None, {}, str(desk.access.path))
    rows: list[tuple[Any, ...]] = []
    try:
        rows = await desk.ask(overlay())
    except Rejected as error:
        desk.warn(f"what is set in the database for all cannot be read: {error}")
    entries = {key: Entry(value.strip(), OVERLAY, None) for place, key, value in rows if place == heading}
    section = replace(
        section, entries={**section.entries, **{key: entry for key, entry in entries.items() if KEY.fullmatch(key)}}
    )
    if not section.entries and section.line is None:
        hint = nearest(name, (await known_stages(desk))[0])
        return Known(section, None, f"there is no section [{heading}]{f'; {hint}' if hint else ''}")
    try:
        stage = stage_that_runs(section)
    except StageError as error:
        return Known(section, None, str(error))
    program = section.entries.get("PROGRAM")
    said = (
        "without PROGRAM" if program is None else f"whose PROGRAM = {program.value} is no stage that is installed here"
    )
    return Known(section, stage, "" if stage else f"[{heading}] is a section {said}")


def import_stages(access: Access) -> None:
    """Import the stages of all sections, while that is allowed. What cannot be is told when it is asked for."""
    for section in access.sections.values():
        try:
            stage_that_runs(section)
        except StageError:
            continue


def refuse_unfit(known: Known, name: str, key: str, value: str, *, force: bool) -> None:
    """Raise QueueError if *value* cannot be set for *key*. With *force* what is not known is let pass."""
    if known.stage is None:
        if not force:
            raise QueueError(f"{known.why}, so nobody knows what can be set there (--force sets it all the same)")
        return
    options = known.options
    if key not in options:
        there = f"those of the stage {name} are {', '.join(options)}" if options else f"the stage {name} has none"
        hint = nearest(key, options)
        raise QueueError(f"{key} cannot be set by address; {hint or there}")
    problems = known.problems({key: value})
    if problems:
        raise QueueError("\n".join(str(problem) for problem in problems))
