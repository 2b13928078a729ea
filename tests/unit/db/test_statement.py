"""The named statements of queries/*.sql."""

import re
from pathlib import Path

import pytest

from pepsi.db.statement import QUERIES, Statement, load, named

PACKAGE = QUERIES.parent.parent
USE = re.compile(r"""\bnamed\(\s*["'](\w+)["']""")


def written(tmp_path: Path, text: str, name: str = "q.sql") -> Path:
    file = tmp_path / name
    file.write_text(text)
    return file


def test_every_query_is_used_and_every_name_used_exists() -> None:
    source = "\n".join(file.read_text() for file in PACKAGE.rglob("*.py"))
    names = set(load(QUERIES.glob("*.sql")))
    assert set(USE.findall(source)) <= names
    assert {name for name in names if f'"{name}"' not in source} == set()


def test_a_query_is_its_text_without_comments_and_semicolon(tmp_path: Path) -> None:
    text = "-- name: one\n-- Says one.\nSELECT 1,\n  -- really\n  %(x)s;\n\n-- name: two\n-- Says two.\nSELECT 2\n"
    queries = load([written(tmp_path, text)])
    assert queries["one"].text == "SELECT 1,\n  %(x)s"
    assert queries["one"].placeholders == {"x"}
    assert queries["two"].text == "SELECT 2"


def test_a_doubled_percent_sign_reaches_the_server_once(tmp_path: Path) -> None:
    text = "-- name: bare\n-- Has none.\nSELECT 1 %% 2\n-- name: full\n-- Has one.\nSELECT %(x)s %% 2\n"
    queries = load([written(tmp_path, text)])
    assert queries["bare"].text == "SELECT 1 % 2"
    assert queries["full"].text == "SELECT %(x)s %% 2"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-- name: a\n-- A.\nSELECT 1\n-- name: a\n-- A.\nSELECT 2\n", "exists already"),
        ("SELECT 1\n-- name: a\n-- A.\nSELECT 1\n", "before the first"),
        ("-- name: a\nSELECT 1\n", "no sentence"),
        ("-- name: a\n-- A.\nSELECT 1 % 2\n", "lone %"),
        ("-- name: a\n-- A.\nSELECT 'x%'\n", "lone %"),
        ("-- name: a\n-- A.\nSELECT %s\n", "lone %"),
    ],
)
def test_a_file_that_could_be_misread_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        load([written(tmp_path, text)])


def test_two_files_may_not_share_a_name(tmp_path: Path) -> None:
    text = "-- name: a\n-- A.\nSELECT 1\n"
    with pytest.raises(ValueError, match="exists already"):
        load([written(tmp_path, text), written(tmp_path, text, "r.sql")])


def test_a_misspelt_name_is_told_the_nearest() -> None:
    with pytest.raises(LookupError, match="did you mean 'schema_present'"):
        named("schema_presents")


@pytest.mark.parametrize("params", [{}, {"limit": 1, "more": 2}, {"limits": 1}])
def test_parameters_must_be_those_of_the_query(params: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="limit"):
        named("sweep_bodies", **params)


def test_a_statement_without_parameters_gives_the_driver_none() -> None:
    assert Statement("SELECT 1 % 2").call == ("SELECT 1 % 2", None)
    assert Statement("SELECT %(x)s", {"x": 1}).call == ("SELECT %(x)s", {"x": 1})
