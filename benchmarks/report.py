"""What a benchmark found: a table for people, and keys for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Key = str | int | float | bool | None
"""What a key of a report holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a key should come to. *at_least* or else *at_most* is the bound."""

    key: str
    at_least: float | None = None
    at_most: float | None = None

    def met_by(self, value: float) -> bool:
        """Whether *value* is on the right side of the bound."""
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def judged(self, value: float) -> str:
        """Say in a few words how *value* compares with the goal."""
        bound = f"at least {self.at_least:g}" if self.at_least is not None else f"at most {self.at_most:g}"
        return f"{self.key} {value:g}: the goal, {bound}, is {'met' if self.met_by(value) else 'MISSED'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The figures of one benchmark. *keys* are what ``--json`` prints; *notes* are whole sentences."""

    name: str
    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: Mapping[str, Key]
    goals: tuple[Goal, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def text(self) -> str:
        """Return the table, what became of the goals, and the notes."""
        judged = [goal.judged(float(value)) for goal in self.goals if (value := self.keys[goal.key]) is not None]
        return "\n".join([table(self.heading, self.rows), *judged, *self.notes])


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return *rows* under *heading*: the first column to the left, the others to the right."""
    lines = [heading, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    shown = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([shown[0], "-" * max(map(len, shown)), *shown[1:]])


def as_json(reports: Sequence[Report], machine: Mapping[str, Key]) -> str:
    """Return one line: the keys of the only report, or those of each of several under its name."""
    found: dict[str, object] = {}
    for report in reports:
        keys = {"benchmark": report.name, **report.keys}
        if len(reports) == 1:
            found |= keys
        else:
            found[report.name] = keys
    return json.dumps({**found, "machine": dict(machine)})
