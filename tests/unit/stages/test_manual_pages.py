"""The manual pages of the stages that reach outside: each key is there as it is declared, and the examples work."""

import re

import pytest

from pepsi.config.load import load_text
from pepsi.config.options import StageOptions
from pepsi.stages.registry import find
from pepsi.tools.roff import key_list, own_keys
from pepsi.worker.section import options_of
from tests.arch.checkout import CHECKOUT

NAMES = ("deliver-maildir", "pipe", "relay-to-smarthost")

BASE = """
[pepsi-postgres]
DSN = embedded
[pepsi-ingress]
LISTEN = tcp:0
ENTRY_STAGE = {name}
{section}
[stage-next]
PROGRAM = pepsi-stage-discard
"""


def page(name: str) -> str:
    return (CHECKOUT / "man" / f"pepsi-stage-{name}.1").read_text(encoding="utf-8")


def part(text: str, heading: str) -> str:
    return re.split(r"^\.SH .*\n", text.partition(f".SH {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_each_key_as_it_is_declared(name: str):
    assert part(page(name), "KEYS").splitlines() == key_list(own_keys(find(name).Options, StageOptions))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_page_are_sections_that_can_be_used(name: str):
    examples = re.findall(r"^\.nf\n(\[stage.*?)\.fi$", part(page(name), "EXAMPLES"), re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        section = re.sub(r"(?<=_STAGE = )\S+", "next", example.replace("\\-", "-").replace("\\(dq", '"'))
        [stage] = re.findall(r"\[stage-(\S+)\]", section)
        assert options_of(find(name), load_text(BASE.format(name=stage, section=section)), stage)
