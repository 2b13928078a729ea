"""The command line of pepsi-queue: what it takes, what its help says, and its manual page."""

import subprocess
import sys
from pathlib import Path

import pytest

from pepsi.tools.queue.program import COMMANDS, main
from tests.support_command_line import helped, refused, the_page_names_all


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_page_names_every_command_and_option_that_the_help_does(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    the_page_names_all("pepsi-queue.8", main, command, capsys)


def test_the_help_names_every_command_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    said = helped(main, [], capsys)
    assert {command for command in COMMANDS if f"\n    {command} " not in said} == set()
    assert "pepsi-queue set-stage 42 relay" in said.partition("examples:")[2]


IDS = ["1 OR 1=1", "1e3", "0x10", " 7", "٣", "9" * 20, "9223372036854775808", "-5", "5;", "", "1_0", "+1"]


@pytest.mark.parametrize("word", IDS)
@pytest.mark.parametrize("command", [["list"], ["delete"], ["set-stage"]])
def test_what_is_no_number_of_a_message_is_refused(
    command: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(main, [*command, word, *(["a"] if command == ["set-stage"] else [])], capsys)
    assert "expected the number of a message" in said or "required: WORKQUEUE_ID" in said


STAGES = [
    "a';DROP TABLE pepsi.workqueue;--",
    'a"b',
    "A/a",
    "ü",
    "x y",
    "%s",
    "%(id)s",
    "100%%",
    "a\\",
    "$1",
    "$$",
    "x" * 51,
    "x" * 64,
    "x" * 300,
    "a\nb",
    "a\x1b[2J",
    "",
    "*",
    "\udcff",
]


@pytest.mark.parametrize("stage", STAGES)
def test_what_no_stage_can_be_called_is_no_place_for_a_message(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(main, ["set-stage", "5", stage, "--force"], capsys)
    assert "a stage's name has 1 to 50" in said
    assert "\x1b" not in said


def test_a_filter_that_is_no_text_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "expected UTF-8" in refused(main, ["--stage", "\udcff"], capsys)


@pytest.mark.parametrize("words", [["--status", "lost"], ["--limit", "0"], ["--limit", "many"], ["--limit", "-1"]])
def test_a_filter_that_makes_no_sense_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert f"argument {words[0]}" in refused(main, words, capsys)


@pytest.mark.parametrize("words", [["5", "-c", "x"], ["list", "--config=x"], ["-c", "x", "gc", "-Ldebug"]])
def test_an_option_behind_the_command_is_told_its_place(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "stands before the command" in refused(main, words, capsys)


def test_a_misspelt_command_is_told_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such command: delet; did you mean delete?" in refused(main, ["delet", "5"], capsys)
    assert "the commands are list, delete" in refused(main, ["-c", "x", "frobnicate"], capsys)


def test_a_command_line_that_cannot_be_read_does_not_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert r"\x1b[2J" in refused(main, ["gc", "\x1b[2J"], capsys)
    assert r"\x1b[2J" in refused(main, ["x\x1b[2J"], capsys)


@pytest.mark.parametrize("words", [["delete"], ["delete", "1", "2"], ["set-stage", "1"], ["gc", "--json", "--quiet"]])
def test_too_few_and_too_many_words_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    refused(main, words, capsys)


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_shells_are_told_how_to_complete_the_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--print-completion", shell])
    script = capsys.readouterr().out
    assert "set-stage" in script
    assert "--state-only" in script or "state-only" in script


@pytest.mark.parametrize("module", ["twisted.internet.reactor", "shtab", "wcwidth", "rich"])
def test_help_imports_nothing_that_it_does_not_need(module: str) -> None:
    look = (
        "import sys\nfrom pepsi.tools.queue.program import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        f"sys.exit({module!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", look], stdout=subprocess.DEVNULL).returncode == 0


def test_a_file_that_is_not_there_is_an_error_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["-c", str(tmp_path / "none\x1b")]) == 1
    said = capsys.readouterr().err
    assert said == f"pepsi-queue: {tmp_path}/none\\x1b: cannot be read: No such file or directory\n"
