"""A minute of ``make chaos``: faults at random under load, and the oracle's verdict on what became of the mail."""

import json
import subprocess
import sys

import pytest

from tests.arch.checkout import CHECKOUT

SEED = 1
SECONDS = 60


@pytest.mark.timeout(600)
def test_a_minute_of_faults_loses_nothing_and_leaves_nothing_behind() -> None:
    command = [sys.executable, "-bb", "-m", "tests.chaos", "--seed", str(SEED), "--seconds", str(SECONDS), "--json"]
    # As a program of its own: it looks after a server, which only the main thread of a process may do.
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=False)
    report = json.loads(done.stdout)
    print(done.stdout)
    assert report["violations"] == []
    assert (report["losses"], report["unexplained_doubles"], report["overlaps"]) == (0, 0, 0)
    assert (report["orphans"], report["sessions_left"], report["leaked_descriptors"]) == (0, 0, 0)
    assert done.returncode == 0
    # It has looked at something.
    assert report["messages"] > 500
    assert report["executions"] >= 2 * report["finished"]
    assert len(report["faults"]) >= 12
    assert report["restarts"] >= 1
