"""From PROGRAM to what is executed."""

import sys
from pathlib import Path

import pytest

from pepsi.dispatch.program import Launch, launch
from pepsi.errors import StageError
from pepsi.model.stage import StageSpec

BESIDE_PYTHON = str(Path(sys.executable).parent)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for programs, the only one on PATH."""
    made = tmp_path / "bin"
    made.mkdir()
    return made


def program(folder: Path, name: str, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def launched(folder: Path, text: str, config: Path | None = None, **environ: str) -> Launch:
    return launch(StageSpec(name="my-stage", program=text), 7, config, {"PATH": str(folder), **environ})


def test_a_program_is_found_on_path_and_run_as_a_worker(folder: Path) -> None:
    path = program(folder, "pepsi-stage-x")
    assert launched(folder, "pepsi-stage-x").arguments == (str(path), "worker")
    assert launched(folder, "pepsi-stage-x").executable == str(path)


def test_an_absolute_program_is_taken_as_it_is(folder: Path, tmp_path: Path) -> None:
    path = program(tmp_path, "elsewhere")
    assert launched(folder, str(path)).arguments == (str(path), "worker")


def test_earlier_folders_of_path_win_and_that_of_python_comes_last(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    program(other, "python")
    both = launch(StageSpec(name="a", program="python"), 7, None, {"PATH": f"{folder}:{other}"})
    assert both.arguments[0] == str(other / "python")
    assert launched(folder, "python").arguments[0] == f"{BESIDE_PYTHON}/python"
    assert launched(folder, "python").environment["PATH"] == f"{folder}:{BESIDE_PYTHON}"


def test_program_is_split_into_words_as_by_a_shell_but_no_shell_runs(folder: Path) -> None:
    path = program(folder, "prog")
    made = launched(folder, """prog 'two words' "$HOME" a\\ b *.py; true""")
    assert made.arguments == (str(path), "two words", "$HOME", "a b", "*.py;", "true", "worker")


def test_a_config_file_is_passed_on_before_the_subcommand(folder: Path) -> None:
    path = program(folder, "prog")
    made = launched(folder, "prog -v", config=Path("/etc/pepsi/with space.conf"))
    assert made.arguments == (str(path), "-v", "-c", "/etc/pepsi/with space.conf", "worker")


def test_a_worker_learns_its_stage_and_epoch_and_keeps_the_environment(folder: Path) -> None:
    program(folder, "prog")
    environment = launched(folder, "prog", HOME="/home/x", LANG="C.UTF-8", PEPSI_STAGE="stale").environment
    assert environment["PEPSI_STAGE"] == "my-stage"
    assert environment["PEPSI_EPOCH"] == "7"
    assert environment["PGAPPNAME"] == "pepsi-stage-my-stage"
    assert environment["HOME"] == "/home/x"
    assert environment["LANG"] == "C.UTF-8"


def test_what_the_service_manager_told_the_dispatcher_is_withheld(folder: Path) -> None:
    program(folder, "prog")
    made = launched(folder, "prog", NOTIFY_SOCKET="/run/x", WATCHDOG_PID="1", WATCHDOG_USEC="30000000")
    assert not {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"} & set(made.environment)


def test_without_a_path_the_usual_folders_are_searched() -> None:
    made = launch(StageSpec(name="a", program="sh"), 7, None, {})
    assert made.arguments[-2] in ("/bin/sh", "/usr/bin/sh")
    assert made.environment["PATH"] == f"/usr/local/bin:/usr/bin:/bin:{BESIDE_PYTHON}"


def test_where_the_system_has_them_a_session_and_a_death_signal_are_put_before(folder: Path) -> None:
    path, setsid, setpriv = (program(folder, name) for name in ("prog", "setsid", "setpriv"))
    made = launched(folder, "prog")
    assert made.executable == str(setsid)
    assert made.arguments == (
        str(setsid), str(setpriv), "--pdeathsig", "TERM", "--", str(path), "worker",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no-such-program -x", "PROGRAM of [stage-my-stage], no-such-program, is not found on PATH"),
        ("/no/such/program", "PROGRAM of [stage-my-stage], /no/such/program, does not exist"),
    ],
)
def test_a_program_that_does_not_exist_is_named(folder: Path, text: str, complaint: str) -> None:
    with pytest.raises(StageError) as raised:
        launched(folder, text)
    assert str(raised.value) == complaint


def test_a_file_that_is_not_executable_or_no_file_is_named(folder: Path, tmp_path: Path) -> None:
    for path in (program(tmp_path, "data", mode=0o644), folder):
        with pytest.raises(StageError, match=f"{path}, is not an executable file"):
            launched(folder, str(path))
