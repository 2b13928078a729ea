"""What a tool reads of a configuration that may be wrong elsewhere."""

from pathlib import Path

import pytest

from pepsi.config.access import Access, load_access
from pepsi.errors import ConfigError


def access(tmp_path: Path, text: str) -> Access:
    file = tmp_path / "pepsi.conf"
    file.write_text(text)
    return load_access(file)


def test_errors_in_other_sections_do_not_matter(tmp_path: Path) -> None:
    found = access(
        tmp_path, "[pepsi]\nHOSTNAME = not a name\n[pepsi-postgres]\nDSN = dbname=a\n[stage-a]\nPARALELISM = x\n[odd]\n"
    )
    assert (found.postgres.dsn, found.stages, found.complete) == ("dbname=a", {"a"}, True)
    assert found.path == tmp_path / "pepsi.conf"


def test_what_cannot_be_read_may_have_been_a_stage(tmp_path: Path) -> None:
    found = access(tmp_path, "[pepsi-postgres]\nDSN = dbname=a\n[stage-a]\n[stage-\n")
    assert (found.stages, found.complete) == ({"a"}, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "DSN: this key must be set"),
        ("[pepsi-postgres\nDSN = dbname=a\n", "expected a heading"),
        ("[pepsi-postgres]\nDSN = dbname=a\nDSN = dbname=b\n", "this key stands at line 2 already"),
        ("[pepsi-postgres]\nDSN = dbname=a\nCONNECT_TIMEOUT = soon\n", "CONNECT_TIMEOUT"),
    ],
)
def test_errors_in_the_section_of_the_database_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        access(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_access(tmp_path / "none")
