"""Where a program's log goes: one line of text an event, or one JSON object a line, on standard error.

Mail is hostile and its words reach the log: no control character gets through, and a log that cannot be written to
never ends the program.
"""

import contextlib
import json
import math
import re
from datetime import UTC, datetime
from typing import Any, TextIO

from twisted.logger import (
    FilteringLogObserver,
    ILogFilterPredicate,
    ILogObserver,
    LogEvent,
    LogLevel,
    LogLevelFilterPredicate,
    PredicateResult,
    formatEvent,
    globalLogBeginner,
)
from twisted.python.failure import Failure
from twisted.python.reflect import safe_str
from zope.interface import implementer

from pepsi.model.text import storable

LINE_LIMIT = 8192
"""Characters of one event's text that are written, its traceback not counted."""

LONGEST_LIST = 1000
"""Of a longer list the JSON has the text: ids of messages are fewer than that."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_OWN_FIELD = ("log_", "isError", "format", "time", "message", "failure", "why")


def text_line(event: LogEvent) -> str:
    """Return *event* as text: one line, and the indented lines of a traceback if it carries one."""
    head = f"{_when(event)} {_level(event)} [{event.get('log_namespace', '-')}] {_shown(formatEvent(event))}\n"
    return head + "".join(f"\t{_shown(line)}\n" for line in _traceback(event).splitlines())


def json_line(event: LogEvent) -> str:
    """Return *event* as one JSON object on one line: time, level, logger, text, and the event's plain fields."""
    record: dict[str, object] = {
        name: _plain(value) for name, value in event.items() if not name.startswith(_OWN_FIELD)
    }
    record.update(
        time=_when(event),
        level=_level(event),
        logger=str(event.get("log_namespace", "-")),
        text=formatEvent(event)[:LINE_LIMIT],
    )
    traceback = _traceback(event)
    if traceback:
        record["traceback"] = traceback
    return json.dumps(record, allow_nan=False) + "\n"


@implementer(ILogObserver)
class StreamObserver:
    """Writes events to a text stream, each by one write."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream = stream
        self._render = json_line if as_json else text_line

    def __call__(self, event: LogEvent) -> None:
        # The terminal that started us may be gone (EIO), the disk full: there is nobody left to tell.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(self._render(event))
            self._stream.flush()


@implementer(ILogFilterPredicate)
class OursOrGrave:
    """Lets through what Pepsi says, and of others what is a warning or worse."""

    def __call__(self, event: LogEvent) -> Any:
        level = event.get("log_level")
        ours = str(event.get("log_namespace", "")).startswith("pepsi")
        return PredicateResult.maybe if ours or (level is not None and level >= LogLevel.warn) else PredicateResult.no


def begin_logging(stream: TextIO, *, level: str = "info", libraries: bool = False, as_json: bool = False) -> None:
    """Send everything from *level* upwards to *stream*, from now on and for the rest of the process.

    Without *libraries*, what others than Pepsi say is passed on from warnings upwards only.
    """
    threshold = LogLevelFilterPredicate(LogLevel.levelWithName(level))
    predicates: list[ILogFilterPredicate] = [threshold] if libraries else [OursOrGrave(), threshold]
    observer = FilteringLogObserver(StreamObserver(stream, as_json=as_json), predicates)
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)


def _when(event: LogEvent) -> str:
    moment = datetime.fromtimestamp(event.get("log_time", 0.0), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _level(event: LogEvent) -> str:
    level = event.get("log_level")
    return "info" if level is None else str(level.name)


def _traceback(event: LogEvent) -> str:
    failure = event.get("log_failure")
    return failure.getTraceback() if isinstance(failure, Failure) else ""


def _shown(text: str) -> str:
    text = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), storable(text))
    return text if len(text) <= LINE_LIMIT else text[:LINE_LIMIT] + " [...]"


def _plain(value: object) -> object:
    """Return *value* as JSON has it, or as text if it has no such thing."""
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
        return [_scalar(each) for each in value]
    return _scalar(value)


def _scalar(value: object) -> object:
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return safe_str(value)[:LINE_LIMIT]
