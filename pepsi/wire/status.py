"""One status line of a worker: from bytes to a value and back.

A line is a number from 0 to 255, alone, or followed by a space and either a JSON report of the stages that were fused
into the pass, ``[["srs",120],["if",14]]`` with microseconds, or (after a number that is not 0) a reason in free text.
"""

import json
import re

from pepsi.errors import WireError
from pepsi.model.status import OK, Fused, Status
from pepsi.model.text import one_line

READY = b"ready"
READY_BATCH = b"ready batch"
LINE_LIMIT = 64 * 1024
"""Bytes of the longest line a worker may write, its end not counted."""
_DONE = Status(code=OK)
_CODE = re.compile(rb"(0|[1-9][0-9]{0,2})(?: (.*))?", re.DOTALL)
_REPORT_LIMIT = 64
_NAME_LIMIT = 255
_MICROSECONDS_LIMIT = 2**40
"""Twelve days. Sums of such numbers stay far from the end of a bigint, so one mad report cannot spoil a flush."""


def parse(line: bytes) -> Status:
    """Read one status line, without its line end.

    Raises WireError when the status itself cannot be read: the protocol is positional, so nothing after it can be
    trusted. A report that cannot be read is dropped with a warning, and the status stands.
    """
    if line == b"0":
        return _DONE
    found = _CODE.fullmatch(line)
    if found is None or int(found[1]) > 255:
        raise WireError(f"unreadable status line {line[:80]!r}")
    code, rest = int(found[1]), found[2] or b""
    if not rest:
        return Status(code=code)
    report = _report(rest)
    if report is not None:
        return Status(code=code, report=report)
    if code == OK:
        return Status(code=code, warning=f"unreadable report {rest[:80]!r} dropped")
    return Status(code=code, reason=one_line(rest.decode("utf-8", "replace")))


def render(status: Status) -> bytes:
    """Return the line for *status*, without its line end."""
    if status.report:
        return b"%d %s" % (
            status.code,
            json.dumps([[f.stage, f.microseconds] for f in status.report], separators=(",", ":")).encode(),
        )
    if status.reason and status.code != OK:
        return b"%d %s" % (status.code, one_line(status.reason).encode())
    return b"%d" % status.code


def _report(text: bytes) -> tuple[Fused, ...] | None:
    if not text.startswith(b"["):
        return None
    try:
        items = json.loads(text.decode("utf-8"))  # from bytes it would guess at other encodings
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list) or len(items) > _REPORT_LIMIT:
        return None
    fused = []
    for item in items:
        match item:
            case [str(stage), int(micros)] if _plausible(stage, micros):
                fused.append(Fused(stage, micros))
            case _:
                return None
    return tuple(fused)


def _plausible(stage: str, microseconds: int) -> bool:
    """Whether the statistics can store both."""
    clean = stage != "" and stage == one_line(stage, _NAME_LIMIT)
    return clean and not isinstance(microseconds, bool) and 0 <= microseconds < _MICROSECONDS_LIMIT
