"""What a service says to a command line that it cannot use."""

import pytest

from pepsi.tap.dispatch import main


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("words", [["-c", "pepsi.conf"], ["-cpepsi.conf"]])
def test_an_option_behind_the_command_is_told_its_place(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(["serve", *words], capsys)
    assert said.endswith("; -c: before the command, as in pepsi-dispatch -c ... COMMAND")


def test_what_is_nobodys_option_is_told_no_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(["serve", "--bogus", "word"], capsys).endswith("error: unrecognized arguments: --bogus word")
