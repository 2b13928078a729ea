"""From a stage's PROGRAM to what is executed: the words, the file on PATH, the environment."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pepsi.errors import StageError
from pepsi.model.stage import StageSpec

WITHHELD = ("NOTIFY_SOCKET", "WATCHDOG_")
"""How variables begin by which the service manager spoke to the dispatcher, and no child should act on."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What is executed for a worker."""

    executable: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    own_group: bool
    """Whether it leads a process group of its own."""


def launch(spec: StageSpec, epoch: int, config_file: Path | None, environ: Mapping[str, str]) -> Launch:
    """Return how a worker of *spec* is started: ``PROGRAM [-c FILE] worker``, found on PATH unless absolute.

    The directory of this very Python is searched last: in a virtual environment that nobody activated, the shipped
    programs stand there. Raises StageError when the program cannot be found or is not executable.
    """
    words = shlex.split(spec.program)
    if config_file is not None:
        words += ["-c", str(config_file)]
    words.append("worker")
    beside_python = str(Path(sys.executable).parent)
    search = ":".join(filter(None, [environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"), beside_python]))
    found = shutil.which(words[0], path=search)
    if found is None:
        raise StageError(_why_not(words[0], spec.name))
    environment = {key: value for key, value in environ.items() if not key.startswith(WITHHELD)}
    # Any worker that uses libpq then shows up under its stage's name, and can be told from those of another dispatcher.
    environment |= {
        "PATH": search,
        "PEPSI_STAGE": spec.name,
        "PEPSI_EPOCH": str(epoch),
        "PGAPPNAME": f"pepsi-stage-{spec.name}",
    }
    wrappers = _wrapped(search)
    arguments = [*wrappers, found, *words[1:]]
    return Launch(arguments[0], tuple(arguments), environment, own_group=any("setsid" in word for word in wrappers))


def _wrapped(search: str) -> list[str]:
    """Return what a worker is started by, as far as this system has it: small programs that end in an exec.

    A session, and so a process group, of its own: a kill reaches what the worker has started, and a signal from the
    terminal does not reach the worker. And a death signal: a dispatcher that is killed leaves no worker behind, not
    even one that does not look at its standard input.
    """
    words: list[str] = []
    for wrapper in (["setsid"], ["setpriv", "--pdeathsig", "TERM", "--"]):
        found = shutil.which(wrapper[0], path=search)
        if found is not None:
            words += [found, *wrapper[1:]]
    return words


def _why_not(program: str, stage: str) -> str:
    if "/" in program and Path(program).exists():
        return f"PROGRAM of [stage-{stage}], {program}, is not an executable file"
    where = "does not exist" if "/" in program else "is not found on PATH"
    return f"PROGRAM of [stage-{stage}], {program}, {where}"
