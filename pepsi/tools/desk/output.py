"""Standard output: what it is, and how writing to it fails."""

import os
import shutil
from collections.abc import Mapping
from typing import TextIO

from pepsi.errors import PepsiError
from pepsi.model.text import visible
from pepsi.tools.common import coloured


class OutputFailed(PepsiError):
    """Standard output takes no more, as a full disk does. A reader who went away is BrokenPipeError instead."""


class Output:
    """Lines of text to where *stream* leads. Signs that its character set has not are written as escapes."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str]) -> None:
        # Not the stream itself: with PYTHONUNBUFFERED it drops what a signal kept it from writing.
        self._stream = open(  # noqa: SIM115 - it lives as long as the process
            stream.fileno(), "w", encoding=stream.encoding, errors="backslashreplace", closefd=False
        )
        self.terminal = stream.isatty()
        self.colour = coloured(stream, environ)

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return shutil.get_terminal_size().columns

    @property
    def ellipsis(self) -> str:
        """The mark that something was cut off here."""
        try:
            "…".encode(self._stream.encoding or "ascii")
        except UnicodeEncodeError:
            return "..."
        return "…"

    def line(self, text: str) -> None:
        """Write *text* and the end of the line. Raises OutputFailed, BrokenPipeError."""
        try:
            self._stream.write(f"{text}\n")
        except OSError as error:
            self._failed(error)

    def flush(self) -> None:
        """Hand on what was written. Raises OutputFailed, BrokenPipeError."""
        try:
            self._stream.flush()
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            # What is left in the buffer would fail once more when the interpreter ends, with a traceback.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            raise OutputFailed(f"standard output: {error.strerror}") from error
        raise error


class Progress:
    """How far something is, in one line of a terminal that is written anew each time. Elsewhere nothing is shown."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str], *, wanted: bool) -> None:
        self._stream = stream
        self._on = wanted and stream.isatty() and environ.get("TERM", "dumb") != "dumb"
        self._shown = False

    def show(self, sentence: str) -> None:
        """Show *sentence* in place of the one before."""
        if self._on:
            self._stream.write(f"\r{visible(sentence)}\033[K")
            self._stream.flush()
            self._shown = True

    def clear(self) -> None:
        """Leave the line as it was, for something else to be said."""
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()
            self._shown = False
