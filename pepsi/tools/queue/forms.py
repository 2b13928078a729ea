"""The forms that a list of messages is shown in: a table, lines for programs, JSON, states. Pure but for widths.

Each form is given rows as ``pepsi.db.queue.page`` asks for them, page after page, and yields lines without their ends.
Nothing that a sender wrote drives a terminal in any of them (I12).
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from pepsi.model.row import RowStatus
from pepsi.model.text import ascii_json, visible
from pepsi.tools.common import paint
from pepsi.tools.desk.table import GAP, line, widths

Rows = Sequence[tuple[Any, ...]]

KEYS = ("workqueue_id", "stage", "status", "mail_from", "subject", "received_at")
"""What each message has in JSON, beside its state."""
ABRIDGED = 200
"""Characters of a state that are shown in a line."""

_HEADING = ("ID", "STAGE", "STATUS", "RECEIVED", "FROM", "SUBJECT", "STATE")
_STATUS = 2
_FLEXIBLE = (1, 4, 5, 6)
_WIDEST = 1000
"""Characters of a cell that are looked at. No terminal shows more, and a long subject takes long to measure."""
_BOLD = 1
_COLOURS = {
    RowStatus.RUNNING: 32,
    RowStatus.PAUSED: 33,
    RowStatus.FAILED: 31,
    RowStatus.TIMEOUT: 31,
}


class Form(Protocol):
    """A way to show messages. *state_limit*: how much it shows of a state, None for all of it."""

    state_limit: int | None

    def rows(self, rows: Rows) -> Iterator[str]:
        """Yield the lines of a page."""

    def end(self) -> Iterator[str]:
        """Yield what comes after the last page."""


class Lines:
    """A line for each message, its fields between tabs, for programs."""

    state_limit: int | None = ABRIDGED

    def rows(self, rows: Rows) -> Iterator[str]:
        """Yield the lines of a page."""
        for row in rows:
            yield "\t".join(_cells(row))

    def end(self) -> Iterator[str]:
        """Yield nothing."""
        return iter(())


class Table:
    """Columns under a heading, for people. The first page says how wide they are."""

    state_limit: int | None = ABRIDGED

    def __init__(self, width: int, ellipsis: str, *, colour: bool) -> None:
        self._width = width
        self._ellipsis = ellipsis
        self._colour = colour
        self._sizes: list[int] = []

    def rows(self, rows: Rows) -> Iterator[str]:
        """Yield the lines of a page, and before the first one the heading."""
        cells = [tuple(cell[:_WIDEST] for cell in _cells(row)) for row in rows]
        if cells and not self._sizes:
            self._sizes = widths([_HEADING, *cells], self._width, _FLEXIBLE)
            yield paint(self._joined(_HEADING), _BOLD, colour=self._colour)
        for each in cells:
            yield self._joined(each)

    def end(self) -> Iterator[str]:
        """Say so if there was no message at all."""
        if not self._sizes:
            yield "no messages"

    def _joined(self, cells: Sequence[str]) -> str:
        shown = list(line(cells, self._sizes, self._ellipsis))
        code = _COLOURS.get(cells[_STATUS])  # type: ignore[call-overload]
        if code is not None:
            shown[_STATUS] = paint(shown[_STATUS], code, colour=self._colour)
        return GAP.join(shown).rstrip()


class States:
    """The state of each message and nothing else, a line each."""

    state_limit: int | None = None

    def rows(self, rows: Rows) -> Iterator[str]:
        """Yield the lines of a page."""
        for row in rows:
            yield ascii_json(row[-1])

    def end(self) -> Iterator[str]:
        """Yield nothing."""
        return iter(())


class Document:
    """One JSON array, an element a line: messages, or their states alone."""

    state_limit: int | None = None

    def __init__(self, *, states_only: bool) -> None:
        self._states_only = states_only
        self._begun = False

    def rows(self, rows: Rows) -> Iterator[str]:
        """Yield the elements of a page. The comma between two stands before the second."""
        for row in rows:
            yield f"{',' if self._begun else '['}{self._element(row)}"
            self._begun = True

    def end(self) -> Iterator[str]:
        """Close the array."""
        yield "]" if self._begun else "[]"

    def _element(self, row: tuple[Any, ...]) -> str:
        *values, state = row
        if self._states_only:
            return ascii_json(state)
        rest = json.dumps(dict(zip(KEYS, values, strict=True)), ensure_ascii=False)
        # The state is JSON as it comes, with numbers that no float can hold.
        return ascii_json(f'{rest[:-1]}, "state": {state}}}')


def _cells(row: tuple[Any, ...]) -> tuple[str, ...]:
    number, stage, status, mail_from, subject, received_at, state = row
    return (
        str(number),
        visible(stage),
        visible(status),
        f"{received_at[:19]}Z",
        visible(mail_from) or "<>",
        visible(subject),
        "" if state == "{}" else visible(state),
    )
