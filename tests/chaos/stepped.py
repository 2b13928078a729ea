"""Runs a program whose wall clock can be set while it runs: ``python -m tests.chaos.stepped FILE MODULE ...``.

FILE holds seconds, a C double, that are added to ``time.time``. The monotonic clock is left alone, as it is when
somebody sets the clock of a machine.
"""

import mmap
import runpy
import struct
import sys
import time
from pathlib import Path


def main() -> None:
    """Become MODULE, before anything else has kept hold of the true clock."""
    offset, module = sys.argv[1:3]
    with open(offset, "rb") as file:  # noqa: PTH123 - what is imported here is imported by every worker
        shared = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
    true_time = time.time
    time.time = lambda: true_time() + float(struct.unpack("d", shared)[0])
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def step(path: Path, seconds: float) -> None:
    """Set the clocks that *path* belongs to so many *seconds* off, from now on."""
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.write(struct.pack("d", seconds))


if __name__ == "__main__":
    main()
