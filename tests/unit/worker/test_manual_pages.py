"""The manual pages of the stage programs say what the programs do."""

import re

import pytest

from pepsi.config.load import load_text
from pepsi.config.options import StageOptions
from pepsi.stages import conditions
from pepsi.stages.condition.terms import FIELDS
from pepsi.stages.registry import find, names
from pepsi.tools.roff import key_list, literal, own_keys
from pepsi.worker.arguments import COMMANDS, FLAGS
from pepsi.worker.section import options_of
from tests.arch.checkout import CHECKOUT

BASE = """
[pepsi-postgres]
DSN = embedded
[pepsi-ingress]
ENTRY_STAGE = {name}
{section}
[stage-next]
PROGRAM = pepsi-stage-discard
"""


def page(name: str) -> str:
    return (CHECKOUT / "man" / f"{name}.1").read_text(encoding="utf-8")


def part(text: str, heading: str, level: str = "SH") -> str:
    return re.split(r"^\.S[HS] .*\n", text.partition(f".{level} {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def test_the_page_of_if_has_each_key_as_it_is_declared() -> None:
    keys = key_list(own_keys(find("if").Options, StageOptions))
    assert part(page("pepsi-stage-if"), "KEYS").splitlines() == keys


def test_discard_has_no_keys_of_its_own() -> None:
    assert own_keys(find("discard").Options, StageOptions) == []


def test_the_page_of_if_has_the_grammar_of_conditions_word_for_word() -> None:
    assert conditions.__doc__ is not None
    grammar = [literal(line.strip()) for line in conditions.__doc__.split("\n\n")[1].splitlines()]
    assert part(page("pepsi-stage-if"), "Grammar", "SS").splitlines()[2 : 2 + len(grammar)] == grammar


def test_the_page_of_if_has_each_field() -> None:
    tags = re.findall(r"^\.TP\n\.B (\w+)$", part(page("pepsi-stage-if"), "Fields", "SS"), re.MULTILINE)
    assert tags == list(FIELDS)


@pytest.mark.parametrize("name", ["if", "discard"])
def test_the_examples_of_a_page_are_sections_that_can_be_used(name: str) -> None:
    found = re.findall(r"^\.nf\n(\[stage.*?)\.fi$", part(page(f"pepsi-stage-{name}"), "EXAMPLES"), re.M | re.S)
    assert found
    for example in found:
        plain = example.replace("\\-", "-").replace("\\(dq", '"').replace("\\(aq", "'")
        section = re.sub(r"(?<=_STAGE = )\S+", "next", plain)
        [stage] = re.findall(r"\[stage-(\S+)\]", section)
        assert options_of(find(name), load_text(BASE.format(name=stage, section=section)), stage)


def test_the_common_page_has_each_command_and_each_option() -> None:
    text = page("pepsi-stage")
    assert re.findall(r"^\.BI? (\w+)", part(text, "COMMANDS"), re.MULTILINE) == list(COMMANDS)
    for flag in FLAGS:
        assert literal(flag.short) in part(text, "OPTIONS")
        assert literal(flag.long) in part(text, "OPTIONS")
    assert part(text, "OPTIONS").count(".TP") == len(FLAGS)


def test_each_shipped_stage_has_a_page() -> None:
    assert {name for name in names() if not (CHECKOUT / "man" / f"pepsi-stage-{name}.1").exists()} == set()
