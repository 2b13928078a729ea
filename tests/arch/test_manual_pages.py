"""The manual pages as files; that they tell the truth is tested beside what they are made from."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pepsi.demo.command import main
from tests.arch.checkout import CHECKOUT

PAGES = sorted((CHECKOUT / "man").glob("*.[1-8]"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_set_without_a_warning(page: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        [groff, "-man", "-ww", "-K", "utf8", "-T", "utf8", "-z", page], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_can_be_found_by_whatis(page: Path) -> None:
    named = re.search(r"^\.SH NAME\n(\S+) \\- \S", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None
    assert named[1].replace("\\-", "-") == page.stem


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_refers_to_pages_that_there_are(page: Path) -> None:
    text = re.sub(r"\\f[BIPR]", "", page.read_text(encoding="utf-8")).replace("\\-", "-")
    named = {f"{name}.{section}" for name, section in re.findall(r"\b(pepsi[\w.-]*) ?\((\d)\)", text)}
    assert named <= {each.name for each in PAGES}


@pytest.mark.parametrize("command", [(), ("up",), ("demo",)])
def test_the_page_of_pepsi_names_every_option_that_its_help_does(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    options = set(re.findall(r"^ +(?:-\w, )?(-[-\w]+)", capsys.readouterr().out.partition("options:")[2], re.MULTILINE))
    assert options
    page = (CHECKOUT / "man/pepsi.1").read_text(encoding="utf-8").replace("\\-", "-")
    assert {option for option in options if option not in page} == set()
