"""The manual page of the configuration file, and what other pages have from the same declarations."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pepsi.config.load import SECTIONS, load_text
from pepsi.config.option import choice, declared, integer, stage
from pepsi.config.options import StageOptions
from pepsi.config.section import parse_section
from pepsi.stages.if_ import IfOptions
from pepsi.tools.manual import EXAMPLE, PAGE, main, page
from pepsi.tools.roff import key_list, literal, own_keys, prose

ROOT = Path(__file__).parents[3]


def test_the_page_in_the_checkout_is_what_the_declarations_say() -> None:
    assert (ROOT / PAGE).read_text() == page(), "run python -m pepsi.tools.manual"


def test_every_key_of_every_section_is_in_the_page() -> None:
    text = page()
    for cls in (*SECTIONS.values(), StageOptions):
        for option in declared(cls):
            assert f"\\fB{option.key}\\fP = \\fI{option.type_name}\\fP\n" in text


def test_every_kind_of_value_that_a_key_takes_is_explained() -> None:
    explained = page().partition(".SH VALUES")[2]
    for cls in (*SECTIONS.values(), StageOptions):
        for option in declared(cls):
            assert option.type_name == "choice" or f".I {option.type_name}\n" in explained


def test_the_example_of_the_page_is_a_configuration_without_a_flaw() -> None:
    config = load_text(EXAMPLE)
    assert config.warnings == ()
    assert set(config.stages) == {"sort", "list", "mailbox", "drop"}


def test_the_example_of_a_stage_passes_the_check_of_the_stage_itself() -> None:
    options, problems = parse_section(IfOptions, load_text(EXAMPLE).stages["sort"].raw)
    assert problems == []
    assert options is not None


def test_no_line_of_the_page_is_an_accident() -> None:
    requests = {line.split()[0] for line in page().splitlines() if line.startswith((".", "'"))}
    assert requests <= {'.\\"', ".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".BR", ".RS", ".RE", ".nf", ".fi"}
    assert page().isascii()


@pytest.mark.parametrize(
    ("text", "roff"),
    [
        ("a-b", "a\\-b"),
        ("\\#", "\\e#"),
        (".conf", "\\&.conf"),
        ("'x' \"y\"", "\\(aqx\\(aq \\(dqy\\(dq"),
        ("~/x", "\\(ti/x"),
        ("a.b", "a.b"),
    ],
)
def test_text_is_shown_as_it_is(text: str, roff: str) -> None:
    assert literal(text) == roff


def test_a_sentence_is_a_line_and_a_key_is_bold() -> None:
    assert prose("It uses\nMAX_SIZE. Or not: X is\nno key.") == ["It uses \\fBMAX_SIZE\\fP.", "Or not:", "X is no key."]


def test_the_page_of_a_stage_has_the_stages_own_keys_only() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Own(StageOptions):
        next_stage: str = stage(required=True, doc="Where all goes.")
        mode: str = choice("slow", choices=("fast", "slow"), doc="How.", per_address=True)
        rounds: int | None = integer(None, unset="it goes on for ever", low=1, doc="How often.")

    assert key_list(own_keys(Own, StageOptions)) == [
        ".TP",
        "\\fBNEXT_STAGE\\fP = \\fIstage\\fP",
        "Where all goes.",
        "Must be set.",
        ".TP",
        "\\fBMODE\\fP = \\fIchoice\\fP",
        "How.",
        "One of fast, slow.",
        "Default: slow.",
        "Can be set for single correspondents.",
        ".TP",
        "\\fBROUNDS\\fP = \\fIinteger\\fP",
        "How often.",
        "Range: at least 1.",
        "If it is not set, it goes on for ever.",
    ]


def test_the_page_is_written_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "page")]) == 0
    assert (tmp_path / "page").read_text() == page()
    assert main([str(tmp_path / "none" / "page")]) == 1
    assert capsys.readouterr().err.endswith("none/page: cannot be written: No such file or directory\n")
