"""Columns of text on a terminal, by the width that it shows each sign with."""

import bisect
from collections.abc import Iterator, Sequence

GAP = "  "
NARROWEST = 8
"""Columns below which nothing is narrowed: then lines are longer than the terminal is wide."""


def width_of(text: str) -> int:
    """Return how many columns a terminal shows *text* in."""
    if text.isascii():
        return len(text)
    # Not at the top: its tables take as long to read as a question to the database.
    from wcwidth import wcswidth

    return max(0, wcswidth(text))


def fitted(text: str, width: int, ellipsis: str) -> str:
    """Return *text* if it is shown in *width* columns, else as much of it as can stand before an *ellipsis* there."""
    if width_of(text) <= width:
        return text
    room = width - width_of(ellipsis)
    # By whole beginnings: some signs take another width after others than alone.
    kept = bisect.bisect_right(range(len(text)), room, key=lambda length: width_of(text[:length])) - 1
    return text[: max(0, kept)] + ellipsis


def widths(rows: Sequence[Sequence[str]], room: int, flexible: Sequence[int]) -> list[int]:
    """Return how wide each column of *rows* is to be, so that a line is shown in *room* columns if that can be.

    As wide as what is in it; of the *flexible* ones those are narrowed that take more than their share.
    """
    wanted = [max(width_of(row[column]) for row in rows) for column in range(len(rows[0]))]
    room -= len(GAP) * (len(wanted) - 1) + sum(size for column, size in enumerate(wanted) if column not in flexible)
    waiting = sorted(flexible, key=lambda column: wanted[column])
    for number, column in enumerate(waiting):
        share = max(NARROWEST, room // (len(waiting) - number))
        wanted[column] = min(wanted[column], share)
        room -= wanted[column]
    return wanted


def line(cells: Sequence[str], sizes: Sequence[int], ellipsis: str) -> Iterator[str]:
    """Yield *cells* cut or filled up to *sizes*; the last one is not filled up."""
    for number, (cell, size) in enumerate(zip(cells, sizes, strict=True)):
        shown = fitted(cell, size, ellipsis)
        yield shown if number == len(sizes) - 1 else shown + " " * (size - width_of(shown))
