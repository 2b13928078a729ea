"""Promises about the tree itself."""

import ast
import importlib
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.arch.checkout import CHECKOUT, console_scripts, files, requirements, setup_cfg

LONGEST = 400


def test_no_file_has_more_lines_than_a_reader_can_hold_in_mind() -> None:
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for suffix in (".py", ".sql") for path in files(suffix)
    }
    assert {str(path): length for path, length in lengths.items() if length > LONGEST} == {}


def test_tests_wait_for_events_and_never_for_time() -> None:
    # Programs beside the tests may sleep: some play a worker that hangs.
    tests = [path for path in files(".py", ("tests",)) if path.name.startswith("test_")]
    assert [f"{path}:{line}" for path in tests for line in sleeps(path)] == []


def sleeps(path: Path) -> list[int]:
    """Return the lines where *path* calls or imports ``time.sleep``."""
    lines = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr="sleep"):
                lines.append(node.lineno)
            case ast.ImportFrom(module="time", names=names) if any(name.name == "sleep" for name in names):
                lines.append(node.lineno)
    return lines


def test_packages_say_what_they_are_and_nothing_else() -> None:
    packages = {path: ast.parse(path.read_bytes()) for path in files("__init__.py", ("pepsi",))}
    for path, module in packages.items():
        assert ast.get_docstring(module), path
        rest = module.body[1:]
        if path.parent.name == "pepsi":  # setuptools reads the version from there
            rest = [node for node in rest if ast.unparse(node).partition(" = ")[0] != "__version__"]
        assert rest == [], path


@pytest.mark.parametrize("script", console_scripts())
def test_a_console_script_can_be_called_and_has_a_manual_page(script: str) -> None:
    module, _, function = console_scripts()[script].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
    assert list((CHECKOUT / "man").glob(f"{script}.[18]"))


def test_each_dependency_has_its_line_in_the_documentation() -> None:
    text = (CHECKOUT / "docs/dependencies.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    assert explained == requirements()


def test_what_is_imported_is_required_and_what_is_required_is_imported() -> None:
    modules = {name.partition(".")[0] for path in files(".py", ("pepsi",)) for name in imported(path)}
    owners = importlib.metadata.packages_distributions()
    foreign = {module: owners.get(module, [module]) for module in modules - sys.stdlib_module_names - {"pepsi"}}
    declared = {normal(name) for name in requirements()}
    assert {module for module, names in foreign.items() if not declared & {normal(name) for name in names}} == set()
    used = {normal(name) for names in foreign.values() for name in names}
    needed = {re.split(r"[\[<>=]", name)[0] for name in setup_cfg().get("options", "install_requires").split()}
    assert {name for name in needed if normal(name) not in used} == set()


def normal(name: str) -> str:
    """Return the name of a package as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(path: Path) -> Iterator[str]:
    """Yield the names of the modules that *path* imports."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module)):
                yield module


def test_twistd_lists_the_plugins_from_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from twisted.scripts.twistd import run; run()", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.search(r"^\s+pepsi-dispatch\s", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert re.search(r"^\s+pepsi-ingress\s", done.stdout, re.MULTILINE)
