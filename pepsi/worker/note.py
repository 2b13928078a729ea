"""What a worker says to people: lines on standard error, which the dispatcher logs under the stage's name."""

import contextlib
import os

_STDERR = 2


def note(text: str) -> None:
    """Write *text* as lines of their own. Without a dispatcher to read them they are lost."""
    with contextlib.suppress(BrokenPipeError):
        os.write(_STDERR, f"{text}\n".encode("utf-8", "backslashreplace"))


def note_traceback(error: BaseException) -> None:
    """Write the traceback of *error*."""
    # Imported here: a worker that meets no error starts sooner without it.
    import traceback

    note("".join(traceback.format_exception(error)).rstrip("\n"))
