"""Shows that each bug is caught: ``python -m tests.unit.sched.mutants [NAME ...]``; takes some minutes."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.unit.sched.mutants import run
from tests.unit.sched.mutants.bugs import BUGS


def main(names: Sequence[str]) -> int:
    """Run, print a line for each bug, and return 1 if one was missed."""
    missed = 0
    for bug in BUGS:
        if names and not any(name in bug.name for name in names):
            continue
        tree = Path(tempfile.mkdtemp(prefix="pepsi-mutant-"))
        try:
            run.copy(tree)
            run.seed(bug, tree)
            caught = not run.passes(bug.tests, tree)
        finally:
            shutil.rmtree(tree)
        missed += not caught
        print(f"{'caught' if caught else 'MISSED'}  {bug.name}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
