"""Command lines of tools: what is refused, what the help says, and whether the manual page says the same."""

import re
from collections.abc import Callable, Sequence

import pytest

from tests.arch.checkout import CHECKOUT

Main = Callable[[Sequence[str]], int]


def refused(main: Main, words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run *words*, which make no sense, and return what was said of that."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def helped(main: Main, words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the help for *words*."""
    with pytest.raises(SystemExit) as caught:
        main([*words, "--help"])
    assert caught.value.code == 0
    return capsys.readouterr().out


def the_page_names_all(name: str, main: Main, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Assert that the page *name* has *command*, and each option that its help has."""
    page = (CHECKOUT / "man" / name).read_text(encoding="utf-8").replace("\\-", "-")
    options = set(re.findall(r"--[a-z][-a-z]*", helped(main, [command] if command else [], capsys)))
    assert {option for option in options if option not in page} == set()
    assert not command or f"\\fB{command}\\fP" in page or f".B {command}\n" in page
