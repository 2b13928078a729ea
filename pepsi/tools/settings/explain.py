"""``pepsi-settings explain``: which value wins for a correspondent at a stage, and why."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from pepsi.config.section import NOT_SHOWN
from pepsi.db import settings
from pepsi.model.settings import EVERYBODY, settings_domain
from pepsi.model.text import ascii_json, visible
from pepsi.tools.desk.command import Command, Desk
from pepsi.tools.settings.changing import declare_place
from pepsi.tools.settings.stages import Known, known

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value that a key has somewhere: *source* is an address, a place in a file, or the default."""

    source: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Explained:
    """A key with its candidates, the strongest first. *note* says why none but the section's counts, if so."""

    key: str
    candidates: tuple[Candidate, ...]
    wins: int
    note: str = ""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    declare_place(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON array")


async def run(desk: Desk, arguments: argparse.Namespace) -> None:
    """Explain each key that can be set, or is set, for the address at the stage."""
    address, stage = arguments.address, arguments.stage
    found = await known(desk, stage)
    domain = settings_domain(address)
    places = list(dict.fromkeys([address, *([domain] if domain else []), EVERYBODY]))
    values = {(place, key): value for place, key, value in await desk.ask(settings.at(stage, places))}
    if found.stage is None:
        desk.warn(f"{found.why}, so that it is not known which keys count there")
    explained = [_explained(found, key, places, values) for key in _keys(found, values)]
    if arguments.json:
        desk.out.line(ascii_json(json.dumps([_document(each) for each in explained])))
    else:
        for line in _lines(explained, arguments.address, stage):
            desk.out.line(line)
    desk.out.flush()
    winning = {each.key: _winner(values, each.key, places) for each in explained if not each.note}
    given = {key: value for key, value in winning.items() if value is not None}
    for problem in found.problems(given) if given else ():
        desk.warn(f"mail of this correspondent fails at the stage: {problem}")


def _keys(found: Known, values: dict[tuple[str, str], str]) -> list[str]:
    return list(dict.fromkeys([*found.options, *sorted(key for _, key in values)]))


def _explained(found: Known, key: str, places: list[str], values: dict[tuple[str, str], str]) -> Explained:
    own = [Candidate(place, _shown(found, key, values[place, key])) for place in places if (place, key) in values]
    entry = found.section.entries.get(key)
    option = found.options.get(key)
    if entry is not None:
        where = entry.file if entry.line is None else f"{entry.file}:{entry.line}"
        under = [Candidate(where, _shown(found, key, entry.value))]
    else:
        under = [Candidate(DEFAULT, (option.default or None) if option else None)]
    note = "" if found.stage is None or option is not None else "it cannot be set by address, so this has no effect"
    return Explained(key, (*own, *under), len(own) if note else 0, note)


def _winner(values: dict[tuple[str, str], str], key: str, places: list[str]) -> str | None:
    return next((values[place, key] for place in places if (place, key) in values), None)


def _shown(found: Known, key: str, value: str) -> str:
    return NOT_SHOWN if found.concealed(key) else value


def _document(each: Explained) -> dict[str, object]:
    won = each.candidates[each.wins]
    return {
        "key": each.key,
        "value": won.value,
        "source": won.source,
        "candidates": [asdict(candidate) for candidate in each.candidates],
        "note": each.note,
    }


def _lines(explained: list[Explained], address: str, stage: str) -> Iterator[str]:
    if not explained:
        yield visible(f"nothing can be set by address at stage {stage}, and nothing is set there for {address}")
    for each in explained:
        yield visible(each.key) + (f" ({each.note})" if each.note else "")
        width = max(len(visible(candidate.source)) for candidate in each.candidates)
        for place, candidate in enumerate(each.candidates):
            mark = "*" if place == each.wins else " "
            value = "(not set)" if candidate.value is None else visible(candidate.value)
            yield f"  {mark} {visible(candidate.source):<{width}}  {value}{_why(each, place)}"


def _why(each: Explained, place: int) -> str:
    """Return what is said behind the winner."""
    if place != each.wins:
        return ""
    if each.note or len(each.candidates) == 1:
        return "   wins: nothing that is set by address counts" if each.note else "   wins: nothing is set by address"
    source = each.candidates[place].source
    if source == EVERYBODY:
        return "   wins: set for everybody"
    return "   wins: set for the domain" if source.startswith("@") else "   wins: set for just this address"


COMMAND = Command("explain", "say which value wins for an address at a stage, and why", declare, run)
