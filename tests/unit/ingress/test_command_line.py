"""The command line of pepsi-ingress, and its manual page."""

import re
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.python.usage import UsageError

from pepsi.tap.ingress import OTHER_DESCRIPTORS, Options, affordable_sessions, main

PAGE = Path(__file__).parents[3] / "man" / "pepsi-ingress.8"


@pytest.mark.parametrize("command", [[], ["serve"], ["passwd"]])
def test_the_manual_page_has_every_option_that_help_has(command: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    options = set(re.findall(r"^ +(?:(-\w), )?(--[-\w]+)", capsys.readouterr().out, re.MULTILINE))
    page = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    assert options and [option for pair in options for option in pair if option not in page] == []


@pytest.mark.parametrize("command", [[], ["frobnicate"], ["-L", "loud", "serve"], ["passwd"], ["serve", "now"]])
def test_what_is_no_command_is_usage(command: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main(command)
    assert left.value.code == 2
    assert "usage: pepsi-ingress" in capsys.readouterr().err


def test_a_configuration_that_is_not_there_is_an_error_of_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert main(["-c", str(tmp_path / "none"), "passwd", "alice"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_twistd_takes_the_file_and_nothing_else():
    options = Options()
    options.parseOptions(["--config", "x.conf"])
    assert options["config"] == "x.conf"
    with pytest.raises(UsageError):
        Options().parseOptions(["--what"])


@pytest.fixture
def descriptors() -> Iterator[int]:
    """The limit of file descriptors, which is put back afterwards."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield limits[0]
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_no_more_sessions_are_let_in_than_there_are_descriptors_for(descriptors: int):
    assert affordable_sessions(descriptors - OTHER_DESCRIPTORS) == descriptors - OTHER_DESCRIPTORS
    assert affordable_sessions(descriptors) == descriptors - OTHER_DESCRIPTORS
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    assert affordable_sessions(1000) == 256 - OTHER_DESCRIPTORS
