"""Shows the stories while they happen: a table that grows on a terminal, a line for each finished story elsewhere."""

import importlib.util
from collections.abc import Sequence
from typing import Protocol, TextIO

from pepsi.demo.story import Ending, Story, line, summary


class Display(Protocol):
    """Where stories are shown."""

    def show(self, told: Sequence[Story]) -> None:
        """Show *told*, all that is known now. To be called again and again."""

    def close(self, told: Sequence[Story]) -> None:
        """Show *told* for the last time, with a summary, and leave the stream as it was."""


def display_on(stream: TextIO) -> Display:
    """Return what suits *stream*: a table needs a terminal, and the package rich (the extra ``demo``)."""
    if stream.isatty() and importlib.util.find_spec("rich"):
        return _Table(stream)
    return Lines(stream)


class Lines:
    """Writes each story as one line, once it has ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._written: set[int] = set()

    def show(self, told: Sequence[Story]) -> None:
        """Write what has ended since the last call."""
        width = max((len(story.name) for story in told), default=0)
        for number, story in enumerate(told):
            if story.ending is not None and number not in self._written:
                self._written.add(number)
                self._stream.write(line(story, width) + "\n")
        self._stream.flush()

    def close(self, told: Sequence[Story]) -> None:
        """Write what has not ended, too."""
        self.show(told)
        self._stream.writelines(line(story) + "\n" for number, story in enumerate(told) if number not in self._written)
        self._stream.write(summary(told) + "\n")
        self._stream.flush()


class _Table:
    """Draws one table over and over in the same place."""

    def __init__(self, stream: TextIO) -> None:
        # Imported here: an installation without the extra has no such package, and a pipe has no use for it.
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(file=stream), auto_refresh=False, vertical_overflow="crop")
        self._live.start()

    def show(self, told: Sequence[Story]) -> None:
        """Draw the table anew."""
        from rich.table import Table
        from rich.text import Text

        table = Table("message", "way through the stages", "outcome", box=None, header_style="bold")
        for story in told:
            # As Text: a name or a stage could hold what rich takes for markup.
            style = _STYLES[story.ending] if story.ending else ""
            table.add_row(Text(story.name), Text(story.way), Text(story.outcome, style))
        self._live.update(table, refresh=True)

    def close(self, told: Sequence[Story]) -> None:
        """Draw it whole, however long it is, and leave it there."""
        self._live.vertical_overflow = "visible"
        self.show(told)
        self._live.stop()
        self._live.console.print(summary(told), highlight=False)


_STYLES = {Ending.DONE: "green", Ending.FAILED: "red", Ending.WAITS: "yellow"}
