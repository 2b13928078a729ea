"""What a tool needs that only looks into the database, whatever the state of the rest of the file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pepsi.config import inifile
from pepsi.config.load import content_of, stage_of
from pepsi.config.options import Postgres
from pepsi.config.section import RawSection, parse_section
from pepsi.errors import ConfigError

SECTION = "pepsi-postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to get at the database, and the sections that stages have in the file, by stage. *path* is absolute.

    *complete* is False when something in the file could not be read, so that it may have meant further stages.
    """

    path: Path
    postgres: Postgres
    sections: Mapping[str, RawSection]
    complete: bool

    @property
    def stages(self) -> frozenset[str]:
        """The names of the stages that have a section."""
        return frozenset(self.sections)


def load_access(path: Path) -> Access:
    """Return what the file at *path* says of the database. Raises ConfigError if just that cannot be used."""
    absolute = path.absolute()
    sections, problems = inifile.read(content_of(path), str(path), absolute.parent)
    found = sections.get(SECTION) or RawSection(SECTION, None, {}, str(path), absolute.parent)
    postgres, wrong = parse_section(Postgres, found)
    wrong += [problem for problem in problems if problem.section == SECTION]
    if postgres is None or wrong:
        # Without the section, what could not be read at all is what there is to mend.
        wrong = [problem for problem in problems if problem.section is None] + wrong
        raise ConfigError("\n".join(str(problem) for problem in wrong))
    stages = {stage: section for name, section in sections.items() if (stage := stage_of(name))}
    return Access(path=absolute, postgres=postgres, sections=stages, complete=not problems)
