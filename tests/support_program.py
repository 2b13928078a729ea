"""Programs of ours run as processes of their own: what they say is read all the time, and waited for by the test."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

BIN = Path(sys.executable).parent
PATIENCE = 60.0


class Program:
    """A running program. ``said`` is every line of its standard error so far."""

    def __init__(
        self, arguments: Sequence[str | Path], *, cwd: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        path, *rest = arguments
        command = [str(BIN / path) if "/" not in str(path) else str(path), *map(str, rest)]
        self.said: list[str] = []
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            cwd=cwd,
            env={**os.environ, **(environ or {})},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait_for(self, pattern: str, seconds: float = PATIENCE) -> re.Match[str]:
        """Return the first match of *pattern* in a line, said already or still to come."""
        seen = 0

        def found() -> re.Match[str] | None:
            nonlocal seen
            for line in self.said[seen:]:
                seen += 1
                match = re.search(pattern, line)
                if match:
                    return match
            return None

        with self._changed:
            match: re.Match[str] | None = None

            def settled() -> bool:
                nonlocal match
                match = found()
                return match is not None or not self._reader.is_alive()

            self._changed.wait_for(settled, seconds)
        if match is None:
            raise AssertionError(f"{pattern!r} was never said; what was said is:\n" + "".join(self.said))
        return match

    def kill(self, number: int = signal.SIGKILL) -> None:
        self._process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Return the exit status, once all that it said was read."""
        status = self._process.wait(seconds)
        self._reader.join(seconds)
        return status

    def stop(self, seconds: float = PATIENCE) -> int:
        """Ask it to end, and return its exit status."""
        if self.running:
            self.kill(signal.SIGTERM)
        return self.wait(seconds)

    def close(self) -> None:
        if self.running:
            self.kill()
        self.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._changed:
                self.said.append(line)
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()


def until(condition: Callable[[], bool], seconds: float = PATIENCE, *, step: float = 0.02) -> None:
    """Look again and again until *condition* holds. Fails when it does not within *seconds*."""
    pause = threading.Event()
    left = seconds
    while not condition():
        if left <= 0:
            raise AssertionError(f"it did not come about within {seconds:g} s")
        pause.wait(step)
        left -= step
