"""Puts one bug into a copy of the tree and runs the tests that are to catch it against that."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.unit.sched.mutants.bugs import Bug

ROOT = Path(__file__).parents[4]
HERE = Path("tests", "unit", "sched")
PATIENCE = 280.0
"""Seconds after which tests that hang have caught the bug, too."""


def copy(into: Path) -> None:
    """Copy what the tests of the dispatcher's decisions need."""
    skipped = shutil.ignore_patterns("__pycache__", ".hypothesis")
    for name in ("pepsi", "tests"):
        shutil.copytree(ROOT / name, into / name, ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", into)


def seed(bug: Bug, tree: Path) -> None:
    """Put *bug* in. Raises ValueError unless its place is there exactly once."""
    path = tree / "pepsi" / "sched" / bug.file
    text = path.read_text(encoding="utf-8")
    if text.count(bug.right) != 1:
        raise ValueError(f"{bug.name}: {bug.file} does not contain its place exactly once")
    path.write_text(text.replace(bug.right, bug.wrong), encoding="utf-8")


def passes(tests: Sequence[str], tree: Path) -> bool:
    """Whether all of *tests* pass in *tree*. Raises RuntimeError if they cannot be run."""
    command = [sys.executable, "-bb", "-W", "error", "-m", "pytest", "-q", "-x", "--timeout", "240"]
    environ = os.environ | {"PYTHONPATH": str(tree), "PEPSI_SHRINK": "no"}
    try:
        done = subprocess.run(
            [*command, *(str(HERE / test) for test in tests)],
            cwd=tree, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1) and "Timeout" not in done.stderr:
        raise RuntimeError(done.stdout + done.stderr)
    return done.returncode == 0
