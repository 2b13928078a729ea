"""The options of the stage ``if``."""

import pytest

from pepsi.config.section import Entry, RawSection, parse_section
from pepsi.stages.if_ import IfOptions


def problems(**keys: str) -> list[str]:
    entries = {key: Entry(value, "pepsi.conf", line) for line, (key, value) in enumerate(keys.items(), 2)}
    section = RawSection("stage-sort", 1, {"PROGRAM": Entry("pepsi-stage-if", "pepsi.conf", 2), **entries})
    return [str(problem) for problem in parse_section(IfOptions, section)[1]]


def test_a_condition_that_cannot_be_read_is_an_error_with_line_and_column() -> None:
    (problem,) = problems(CONDITION="size >", NEXT_STAGE="on")
    assert problem.startswith("pepsi.conf:2: [stage-sort] CONDITION = size >: expected a condition: column 7: ")


@pytest.mark.parametrize("keys", [{"THEN_STAGE": "a"}, {"ELSE_STAGE": "a"}, {}])
def test_either_way_must_lead_somewhere(keys: dict[str, str]) -> None:
    assert problems(CONDITION="size > 1", **keys) == [
        "pepsi.conf:1: [stage-sort]: expected THEN_STAGE and ELSE_STAGE, or NEXT_STAGE in place of one of them"
    ]


@pytest.mark.parametrize(
    ("keys", "ways"),
    [
        ({"THEN_STAGE": "a", "ELSE_STAGE": "b"}, ("a", "b")),
        ({"THEN_STAGE": "a", "NEXT_STAGE": "c"}, ("a", "c")),
        ({"ELSE_STAGE": "b", "NEXT_STAGE": "c"}, ("c", "b")),
    ],
)
def test_next_stage_stands_in_for_the_way_that_is_not_set(keys: dict[str, str], ways: tuple[str, str]) -> None:
    entries = {key: Entry(value, "pepsi.conf", 2) for key, value in keys.items()}
    entries |= {"PROGRAM": Entry("x", "pepsi.conf", 2), "CONDITION": Entry("size > 1", "pepsi.conf", 2)}
    options, wrong = parse_section(IfOptions, RawSection("stage-sort", 1, entries))
    assert wrong == []
    assert options is not None
    assert (options.way(True), options.way(False)) == ways
