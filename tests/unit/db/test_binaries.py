"""Which server programs are taken."""

from pathlib import Path

import pytest

from pepsi.db.binaries import OVERRIDE, Binaries, find
from pepsi.errors import DatabaseError


def programs(directory: Path, version: str) -> Path:
    """Put programs into *directory* that say they are of *version*."""
    directory.mkdir(parents=True)
    for name in ("initdb", "postgres"):
        program = directory / name
        program.write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        program.chmod(0o755)
    return directory


@pytest.mark.parametrize(("version", "major"), [("14.0", 14), ("15.18 (Debian 15.18-0+deb12u1)", 15), ("19beta1", 19)])
def test_the_programs_say_of_which_version_they_are(tmp_path: Path, version: str, major: int) -> None:
    directory = programs(tmp_path / "bin", version)
    assert find({OVERRIDE: str(directory)}) == Binaries(directory, major)


@pytest.mark.parametrize("version", ["13.9", "no version at all"])
def test_programs_that_are_too_old_are_none(tmp_path: Path, version: str) -> None:
    directory = programs(tmp_path / "bin", version)
    with pytest.raises(DatabaseError, match=f"{OVERRIDE} = {directory}: no initdb and postgres of version 14 or newer"):
        find({OVERRIDE: str(directory)})


def test_a_named_directory_without_programs_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match=OVERRIDE):
        find({OVERRIDE: str(tmp_path)})


def test_a_data_directory_is_opened_with_its_own_version_only(tmp_path: Path) -> None:
    directory = programs(tmp_path / "bin", "16.4")
    assert find({OVERRIDE: str(directory)}, 16).major == 16
    with pytest.raises(DatabaseError, match="made by PostgreSQL 15, and only 16 is installed here"):
        find({OVERRIDE: str(directory)}, 15)


def test_the_programs_on_path_are_found(tmp_path: Path) -> None:
    directory = programs(tmp_path / "bin", "47.1")
    assert find({"PATH": str(directory)}, 47) == Binaries(directory.resolve(), 47)
