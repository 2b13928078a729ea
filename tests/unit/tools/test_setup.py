"""The command line of pepsi-setup against its manual page."""

import re
from pathlib import Path

import pytest

from pepsi.tools.setup import main

PAGE = Path(__file__).resolve().parents[3] / "man" / "pepsi-setup.8"
COMMANDS = [
    "",
    "schema",
    "schema install",
    "schema upgrade",
    "schema check",
    "schema drop",
    "database",
    "database create",
    "doctor",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_command_and_option_that_the_help_does(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), "--help"])
    assert caught.value.code == 0
    options = set(re.findall(r"--[a-z]+", capsys.readouterr().out))
    page = PAGE.read_text().replace("\\-", "-")
    assert {option for option in options if option not in page} == set()
    assert f".B {command}\n" in page or " " not in command


def test_the_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "pepsi-setup database create" in capsys.readouterr().out.partition("examples:")[2]
