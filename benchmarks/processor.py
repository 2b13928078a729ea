"""How much processor time processes use: a figure that another load on the machine leaves nearly as it is."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds of processor time of a process itself, and of all that it started, whether these still run or not."""

    own: float
    children: float

    def __sub__(self, before: "Used") -> "Used":
        """What was used since *before*."""
        return Used(self.own - before.own, self.children - before.children)


def used(pid: int, *, without: int | None = None) -> Used:
    """Return what process *pid* has used so far. Its child *without*, with all of that one's children, is left out."""
    own, ended, _ = _times(Path(f"/proc/{pid}/stat"))
    children: dict[int, list[tuple[int, float]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            itself, its_ended, parent = _times(path)
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(parent, []).append((int(path.parent.name), itself + its_ended))
    living, to_visit = 0.0, [pid]
    while to_visit:
        for child, time in children.get(to_visit.pop(), []):
            if child != without:
                living += time
                to_visit.append(child)
    return Used(own, ended + living)


def parent_of(pid: int) -> int:
    """Return the process id of the parent of *pid*."""
    return _times(Path(f"/proc/{pid}/stat"))[2]


def _times(path: Path) -> tuple[float, float, int]:
    """Return the time of a process, that of its children that have ended, and its parent."""
    # The name stands in parentheses, and may hold any character.
    fields = path.read_bytes().rpartition(b")")[2].split()
    parent, (user, system, ended_user, ended_system) = int(fields[1]), map(int, fields[11:15])
    return (user + system) * _TICK, (ended_user + ended_system) * _TICK, parent
