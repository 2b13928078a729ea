"""Each bug has its place in the code as it is, and the runner tells a bug that is caught from code that is sound."""

from pathlib import Path

import pytest

from tests.unit.sched.mutants import run
from tests.unit.sched.mutants.bugs import BUGS, Bug


def test_each_bug_has_its_place_and_a_name_of_its_own(tmp_path: Path) -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 12
    for bug in BUGS:
        text = (run.ROOT / "pepsi" / "sched" / bug.file).read_text(encoding="utf-8")
        target = tmp_path / "pepsi" / "sched" / bug.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        run.seed(bug, tmp_path)
        assert target.read_text(encoding="utf-8") != text
        compile(target.read_text(encoding="utf-8"), str(target), "exec")
        assert all((run.ROOT / run.HERE / test).exists() for test in bug.tests)


def test_a_bug_whose_place_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pepsi" / "sched").mkdir(parents=True)
    (tmp_path / "pepsi" / "sched" / "held.py").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="exactly once"):
        run.seed(Bug("b", "held.py", "x", "y"), tmp_path)


def test_sound_code_passes_and_a_forgotten_strike_does_not(tmp_path: Path) -> None:
    (bug,) = [bug for bug in BUGS if bug.name == "forgotten strike"]
    run.copy(tmp_path)
    assert run.passes(bug.tests, tmp_path)
    run.seed(bug, tmp_path)
    assert not run.passes(bug.tests, tmp_path)
