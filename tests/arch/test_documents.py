"""What the documents promise."""

import re
from pathlib import Path

import pytest

from pepsi.config.load import load
from pepsi.worker.section import problems_of
from tests.arch.checkout import CHECKOUT

DOCUMENTS = sorted([*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md"), *(CHECKOUT / "examples").rglob("*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_every_link_within_the_tree_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8"))
    inside = {target.partition("#")[0] for target in targets if "://" not in target and not target.startswith("#")}
    assert {target for target in inside if not (document.parent / target).exists()} == set()


def test_the_pipeline_in_the_readme_is_a_configuration_without_fault(tmp_path: Path) -> None:
    (pipeline,) = re.findall(r"```ini\n(.*?)```", (CHECKOUT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "pepsi.conf"
    path.write_text(pipeline)
    config = load(path, own_keys=problems_of)
    assert config.warnings == ()
    assert set(config.stages) == {"sort", "deliver", "relay"}


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in DOCUMENTS:
        # At the start of an indented line, or in backquotes: elsewhere "make" is a word like any other.
        named = re.findall(r"(?:^    |`)make ([a-z]+)", document.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(named) <= targets, document


def test_every_test_that_a_document_names_exists() -> None:
    for document in DOCUMENTS:
        for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", document.read_text(encoding="utf-8")):
            source = CHECKOUT / file
            assert source.is_file(), f"{document.name} names {file}"
            found = re.search(rf"^(async )?def {test}\(", source.read_text(encoding="utf-8"), re.MULTILINE)
            assert found, f"{document.name} names {test} of {file}"


def test_every_fault_that_others_had_is_answered_by_a_test() -> None:
    text = (CHECKOUT / "docs" / "field-reports.md").read_text(encoding="utf-8")
    for section in text.split("\n### ")[1:]:
        assert "`tests/" in section, section.splitlines()[0]
