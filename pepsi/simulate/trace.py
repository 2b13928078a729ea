"""Reads a trace: what came in, when and from whom. One line at a time; a trace is never held whole.

A trace is CSV, or TSV, with a line of column names first, or one JSON object a line. ``time`` and ``sender`` must be
there; ``stage``, ``class`` and ``service`` may be. Times are seconds since whenever, or dates in the form of ISO 8601,
and must not go back.
"""

import csv
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from pepsi.config.values import parse_duration
from pepsi.errors import SimulationError
from pepsi.model.text import one_line
from pepsi.simulate.arrival import Arrival

COLUMNS = ("time", "sender", "stage", "class", "service")
REQUIRED = COLUMNS[:2]
LINE_LIMIT = 64 * 1024
SENDER_LIMIT = 1000
MOST_CLASSES = 20
"""A report has a row for each."""

Place = Callable[[str], SimulationError]
"""Makes the error for what is wrong in the present line."""


def read(lines: Iterable[bytes], name: str, stages: Collection[str]) -> Iterator[Arrival]:
    """Yield what the *lines* of the trace *name* say, the first at time 0.

    Raises SimulationError, whose text names line and mend, for a line that cannot be used. *stages* are those there
    are.
    """
    number = 0

    def wrong(what: str) -> SimulationError:
        return SimulationError(f"{name}:{number}: {what}")

    def numbered() -> Iterator[str]:
        nonlocal number
        for line in lines:
            number += 1
            if len(line) > LINE_LIMIT:
                raise wrong(f"a line has at most {LINE_LIMIT} bytes")
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise wrong("this is no UTF-8; convert the trace with iconv") from None
            if text.strip():
                yield text

    yield from _arrivals(_records(numbered(), wrong), stages, wrong)


def _records(lines: Iterator[str], wrong: Place) -> Iterator[Mapping[str, object]]:
    first = next(lines, None)
    if first is None:
        return iter(())
    if first.lstrip().startswith("{"):
        return _objects(first, lines, wrong)
    return _rows(first, lines, wrong)


def _objects(first: str, lines: Iterator[str], wrong: Place) -> Iterator[Mapping[str, object]]:
    line: str | None = first
    while line is not None:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise wrong('expected one JSON object, such as {"time": 1.5, "sender": "a@example.org"}')
        _check_columns(value, wrong)
        yield value
        line = next(lines, None)


def _rows(first: str, lines: Iterator[str], wrong: Place) -> Iterator[Mapping[str, object]]:
    delimiter = "\t" if "\t" in first else ","
    names = [name.strip().lower() for name in next(csv.reader([first], delimiter=delimiter))]
    _check_columns(names, wrong)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise wrong(f"{error}; quote fields as RFC 4180 says") from None
        if row is None:
            return
        if len(row) != len(names):
            raise wrong(f"{len(row)} fields, but the first line names {len(names)}")
        yield dict(zip(names, (value or None for value in row), strict=True))


def _check_columns(names: Collection[str], wrong: Place) -> None:
    if missing := [name for name in REQUIRED if name not in names]:
        raise wrong(f"no {' and no '.join(missing)}; the first line of CSV names the columns: {', '.join(COLUMNS)}")
    if unknown := [name for name in names if name not in COLUMNS]:
        raise wrong(f"unknown column {one_line(unknown[0], 40)!r}; there are {', '.join(COLUMNS)}")
    if len(set(names)) != len(names):
        raise wrong("two columns of one name; leave one out")


def _arrivals(records: Iterator[Mapping[str, object]], stages: Collection[str], wrong: Place) -> Iterator[Arrival]:
    begin: float | None = None
    latest = 0.0
    groups: dict[str, str] = {}
    for record in records:
        time = _time(record["time"], wrong)
        if begin is None:
            begin = time
        time -= begin
        if time < latest:
            raise wrong(f"{latest - time:g} s earlier than the line before; sort the trace by time")
        latest = time
        stage, group = record.get("stage"), record.get("class")
        if stage is not None and stage not in stages:
            raise wrong(f"no stage {one_line(str(stage), 60)!r}; there are {', '.join(stages)}")
        sender = record["sender"] or ""
        if not isinstance(sender, str) or len(sender) > SENDER_LIMIT:
            raise wrong(f"expected a sender of at most {SENDER_LIMIT} characters")
        if group is not None:
            group = groups.setdefault(str(group), one_line(str(group), 40))
            if len(groups) > MOST_CLASSES:
                raise wrong(f"more than {MOST_CLASSES} classes; the column is for kinds of senders, not for senders")
        yield Arrival(time, sender, group, None if stage is None else str(stage), _service(record, wrong))


def _time(value: object, wrong: Place) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        time = float(value)
    else:
        text = str(value)
        try:
            time = float(text)
        except ValueError:
            try:
                date = datetime.fromisoformat(text)
            except ValueError:
                raise wrong("expected a time in seconds, or a date such as 2026-01-31T12:00:00.5+01:00") from None
            time = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(time):
        raise wrong("expected a time that ends")
    return time


def _service(record: Mapping[str, object], wrong: Place) -> float | None:
    value = record.get("service")
    if value is None:
        return None
    try:
        seconds = float(value) if isinstance(value, int | float) else parse_duration(str(value))
    except (ValueError, OverflowError) as error:
        raise wrong(f"service: {error}") from None
    if not 0 <= seconds < math.inf:
        raise wrong("service: expected seconds that are not negative")
    return seconds
