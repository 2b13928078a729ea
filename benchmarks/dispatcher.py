"""A dispatcher as a process of its own, with a configuration made for it."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.arena import Database
from benchmarks.errors import BenchmarkError

PATIENCE = 300.0
"""Seconds that a dispatcher may take for whatever is waited for."""


class Dispatcher:
    """A running dispatcher."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.pid = process.pid
        self._process = process
        self._log = log

    def wait_until(self, condition: Callable[[], bool], *, look: float = 0.001) -> float:
        """Look every *look* seconds whether *condition* holds; return when it first did, by time.perf_counter.

        Raises BenchmarkError with the end of the log when the dispatcher has ended, or takes for ever.
        """
        begun = time.perf_counter()
        while not condition():
            if self._process.poll() is not None or time.perf_counter() > begun + PATIENCE:
                raise BenchmarkError(f"the dispatcher does not get on; it said:\n{self.last_words()}")
            time.sleep(look)
        return time.perf_counter()

    def last_words(self) -> str:
        """Return the end of its log."""
        return "\n".join(self._log.read_text("utf-8", "replace").splitlines()[-20:])


@contextlib.contextmanager
def dispatcher(
    directory: Path, database: Database, stages: Mapping[str, Mapping[str, str]], **options: str
) -> Iterator[Dispatcher]:
    """Run a dispatcher on *database* for the length of a block.

    *stages* has the keys of each stage's section, *options* those of the dispatcher's own.
    """
    config, log = directory / "pepsi.conf", directory / "dispatcher.log"
    config.write_text(_config(directory, config, database.dsn, stages, options), "utf-8")
    program = Path(sys.executable).with_name("pepsi-dispatch")
    command = [str(program), "-c", str(config), "-L", "warn", "serve"]
    # An installed program is compiled; told not to keep what it compiled, each worker would do it anew.
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=stderr, env=environ)
    try:
        yield Dispatcher(process, log)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _config(
    directory: Path, config: Path, dsn: str, stages: Mapping[str, Mapping[str, str]], options: Mapping[str, str]
) -> str:
    lines = [
        "[pepsi]",
        f"STATE_DIRECTORY = {directory}",
        "[pepsi-postgres]",
        f"DSN = {dsn}",
        "[pepsi-dispatch]",
        f"CONFIG_FILE = {config}",
        *(f"{key.upper()} = {value}" for key, value in options.items()),
        "[pepsi-ingress]",
        f"ENTRY_STAGE = {next(iter(stages))}",
    ]
    for name, keys in stages.items():
        lines += [f"[stage-{name}]", *(f"{key} = {value}" for key, value in keys.items())]
    return "\n".join(lines) + "\n"
