"""The command line of pepsi-settings: what it takes, what its help says, and its manual page."""

import pytest

from pepsi.tools.settings.program import COMMANDS, main
from tests.support_command_line import helped, refused, the_page_names_all


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_page_names_every_command_and_option_that_the_help_does(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    the_page_names_all("pepsi-settings.8", main, command, capsys)


def test_the_help_names_every_command_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    said = helped(main, [], capsys)
    assert {command for command in COMMANDS if f"\n    {command} " not in said} == set()
    assert "pepsi-settings explain bob@example.org mailbox" in said.partition("examples:")[2]


ADDRESSES = ["", " ", "a b@x", "@", "a@", "a@b@c", "a\n@x", "a\x1b[2J@x", "\udcff@x", '"a@x', "x" * 1000 + "@x", "**@ "]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("command", ["set", "unset", "get", "explain"])
def test_what_is_no_address_is_refused(command: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(main, [command, address, "s", *(["KEY", "v"][: {"set": 2, "unset": 1}.get(command, 0)])], capsys)
    assert "argument ADDRESS" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("key", ["key", "", "K-E", "K\n", "É", "K" * 101, "K;DROP"])
def test_what_is_no_key_is_refused(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "argument KEY" in refused(main, ["set", "a@x", "s", key, "v"], capsys)


@pytest.mark.parametrize("value", ["a\nb", "\x1b[2J", "\udcff", "v" * 4001])
def test_what_is_no_value_is_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "argument VALUE" in refused(main, ["set", "a@x", "s", "K", value], capsys)


def test_a_misspelt_command_is_told_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such command: explian; did you mean explain?" in refused(main, ["explian", "a@x", "s"], capsys)


@pytest.mark.parametrize("words", [["set"], ["set", "a@x", "s", "K"], ["unset", "a@x", "s"], ["explain", "a@x"]])
def test_too_few_words_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    refused(main, words, capsys)


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_shells_are_told_how_to_complete_the_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--print-completion", shell])
    assert "explain" in capsys.readouterr().out
