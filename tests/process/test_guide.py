"""The stage in the guide for authors does what the guide says."""

import re
import subprocess
import sys
from pathlib import Path

from tests.support_worker import ROOT

GUIDE = (ROOT / "docs" / "writing-a-stage.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_the_stage_in_the_guide_can_be_tried_and_tested_as_it_says(tmp_path: Path) -> None:
    stage, end, test = blocks("python")
    (tmp_path / "weigh.py").write_text(f"import sys\nimport pepsi.worker.program\n{stage}\n\n{end}")
    (tmp_path / "test_weigh.py").write_text(f"from weigh import Weigh\n{test}")
    (tmp_path / "message.eml").write_text("Subject: hello\n\n" + "x" * 2000)
    (shown,) = blocks("console")
    prompt, expected = shown.split("\n", 1)
    done = run(["sh", "-c", prompt.removeprefix("$ ").replace("python", sys.executable)], tmp_path)
    assert (done.returncode, done.stdout) == (0, expected)
    tested = run([sys.executable, "-bb", "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"], tmp_path)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "1 passed" in tested.stdout


def run(command: list[str], directory: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
