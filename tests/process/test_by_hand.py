"""What a stage's program says to a person at a terminal."""

import os
import subprocess
from pathlib import Path

from tests.support_worker import PATIENCE, ROOT, program


def test_a_terminal_that_knows_only_ascii_gets_the_rest_escaped(tmp_path: Path) -> None:
    letter = tmp_path / "letter.eml"
    letter.write_bytes("Subject: Grüße\r\n\r\ntext\r\n".encode())
    command = [*program("pepsi.worker.program"), "pipe", "-o", "COMMAND=sed s/üß/ÜSS/", "-o", "OUTPUT=replace"]
    done = subprocess.run(
        [*command, "-o", "NEXT_STAGE=next", "try", str(letter)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "1"},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Subject: Gr\\xdcSSe" in done.stdout
