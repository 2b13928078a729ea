"""What a wheel and a source distribution hold. Both are built, from a copy of the checkout and without the network."""

import configparser
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.arch.checkout import CHECKOUT, console_scripts

NOT_COPIED = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "__pycache__", "dropin.cache")

GITS_OWN = (".gitattributes", ".gitignore")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was made from that."""
    folder = tmp_path_factory.mktemp("distribution")
    shutil.copytree(CHECKOUT, folder / "checkout", symlinks=True, ignore=NOT_COPIED)
    if (CHECKOUT / ".ci").is_dir():
        shutil.copytree(CHECKOUT / ".ci", folder / "checkout/.ci")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(folder / "checkout")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.Path:
    """The root of the wheel."""
    return zipfile.Path(next(built.glob("*.whl")))


@pytest.fixture(scope="module")
def names(wheel: zipfile.Path) -> set[str]:
    """The paths of all files in the wheel."""
    return {name for name in wheel.root.namelist() if not name.endswith("/")}


def test_the_wheel_brings_the_twistd_plugin_and_leaves_twisted_alone(names: set[str]) -> None:
    assert {name for name in names if name.startswith("twisted/")} == {"twisted/plugins/pepsi_plugin.py"}


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("pepsi", "**/*.py"),
        ("pepsi/db/queries", "*.sql"),
        ("pepsi/db/sql", "*.sql"),
        ("pepsi/demo", "*.conf"),
        ("pepsi/demo/mail", "*.eml"),
    ],
)
def test_the_wheel_brings_every_module_and_every_file_that_modules_read(
    built: Path, names: set[str], folder: str, pattern: str
) -> None:
    source = built / "checkout"
    needed = {str(path.relative_to(source)) for path in (source / folder).glob(pattern)}
    assert needed
    assert needed <= names


def test_the_wheel_brings_nothing_that_is_not_pepsi(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pepsi", "twisted"}


def test_every_console_script_calls_a_module_of_the_wheel(wheel: zipfile.Path, names: set[str]) -> None:
    info = next(entry for entry in wheel.iterdir() if entry.name.endswith(".dist-info"))
    parser = configparser.ConfigParser()
    parser.read_string((info / "entry_points.txt").read_text(encoding="utf-8"))
    scripts = dict(parser.items("console_scripts"))
    assert scripts == console_scripts()
    for target in scripts.values():
        assert target.partition(":")[0].replace(".", "/") + ".py" in names


def test_the_wheel_brings_the_licence(names: set[str]) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_source_distribution_is_the_whole_checkout(built: Path) -> None:
    if not (CHECKOUT / ".git").exists():
        pytest.skip("no git checkout: nothing tells which files belong to it")
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    tracked = {name for name in listed.stdout.split("\0") if (CHECKOUT / name).exists()} - {"", *GITS_OWN}
    assert tracked <= held
