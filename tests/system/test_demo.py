"""``pepsi demo``, as a person runs it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pepsi.demo.samples import samples

DEMO = [sys.executable, "-m", "pepsi.demo.command", "demo"]


@pytest.fixture
def environment(state_directory: Path) -> dict[str, str]:
    """Where temporary folders are made below one that the private server's account can enter."""
    state_directory.chmod(0o711)
    return {**os.environ, "TMPDIR": str(state_directory)}


def test_all_sample_mail_comes_through_whole_and_nothing_is_left_behind(
    environment: dict[str, str], state_directory: Path
) -> None:
    done = subprocess.run(DEMO, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    endings = [line for line in lines if ": done after " in line]
    assert len(endings) == len(samples())
    assert sum(line.endswith(" byte for byte") for line in lines) == 2
    assert list(state_directory.iterdir()) == []


def test_the_example_that_a_staying_demo_gives_sends_mail(environment: dict[str, str], state_directory: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    command = [*DEMO, "--stay", "--folder", str(state_directory / "kept")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        said = []
        for line in demo.stdout:
            said.append(line)
            if line.startswith("  printf "):
                break
        sent = subprocess.run(["sh", "-c", said[-1]], capture_output=True, text=True, check=False)
        demo.send_signal(signal.SIGINT)
        demo.communicate()
    assert (sent.returncode, sent.stderr) == (0, ""), "".join(said)
    assert demo.returncode == 0
    assert (state_directory / "kept/pepsi.conf").exists()
