"""What is wrong with a graph of stages as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepsi.config import graph
from pepsi.config.section import Entry, RawSection


def section(name: str, **ways: str) -> RawSection:
    return RawSection(name, 1, {key: Entry(value, "pepsi.conf", 2) for key, value in ways.items()})


def check(entry: str | None, stages: dict[str, dict[str, str]]) -> tuple[list[str], list[str]]:
    ingress = section("pepsi-ingress", **({} if entry is None else {"ENTRY_STAGE": entry}))
    errors, warnings = graph.check(ingress, {name: section(f"stage-{name}", **ways) for name, ways in stages.items()})
    return [str(problem) for problem in errors], [str(problem) for problem in warnings]


def test_a_pipeline_without_a_flaw_is_left_in_peace() -> None:
    stages = {
        "a": {"NEXT_STAGE": "b", "BOUNCE_STAGE": "c"},
        "b": {"THEN_STAGE": "c", "ELSE_STAGE": "d"},
        "c": {},
        "d": {},
    }
    assert check("a", stages) == ([], [])


@pytest.mark.parametrize(
    ("target", "hint"),
    [("relax", "; did you mean relay?"), ("stage-relay", "; write relay"), ("xyz", ""), ("", "")],
)
def test_a_stage_that_does_not_exist_is_an_error_with_the_nearest(target: str, hint: str) -> None:
    shown = f" {target}" if target else ""
    expected = f"THEN_STAGE ={shown}: no such stage{hint}"
    assert check("a", {"a": {"THEN_STAGE": target}, "relay": {}}) == ([f"pepsi.conf:2: [stage-a] {expected}"], [])


def test_an_entrance_that_does_not_exist_is_an_error() -> None:
    assert check("b", {"a": {}}) == (["pepsi.conf:2: [pepsi-ingress] ENTRY_STAGE = b: no such stage"], [])


def test_a_common_key_that_is_no_name_is_left_to_the_parser() -> None:
    assert check("a", {"a": {"NEXT_STAGE": "No Name"}}) == ([], [])


def test_a_stage_that_no_message_reaches_is_a_warning() -> None:
    stages = {"a": {"NEXT_STAGE": "b"}, "b": {}, "c": {"NEXT_STAGE": "b", "BOUNCE_STAGE": "d"}, "d": {}}
    text = "no message comes here: no stage that messages reach names it"
    assert check("a", stages) == ([], [f"pepsi.conf:1: [stage-c]: {text}", f"pepsi.conf:1: [stage-d]: {text}"])


def test_without_an_entrance_nothing_is_called_unreachable() -> None:
    assert check(None, {"a": {}, "b": {}}) == ([], [])


def test_a_cycle_that_nothing_leaves_is_a_warning_that_shows_it() -> None:
    stages = {"a": {"NEXT_STAGE": "b"}, "b": {"NEXT_STAGE": "c"}, "c": {"NEXT_STAGE": "b"}}
    warning = "pepsi.conf:2: [stage-b] NEXT_STAGE = c: no message ever leaves this cycle: b -> c -> b"
    assert check("a", stages) == ([], [warning])


def test_a_stage_that_leads_to_itself_alone_is_a_cycle() -> None:
    warning = "pepsi.conf:2: [stage-a] NEXT_STAGE = a: no message ever leaves this cycle: a -> a"
    assert check("a", {"a": {"NEXT_STAGE": "a"}}) == ([], [warning])


@pytest.mark.parametrize(
    "stages",
    [
        {"a": {"NEXT_STAGE": "b"}, "b": {"NEXT_STAGE": "a", "BOUNCE_STAGE": "c"}, "c": {}},
        {"a": {"THEN_STAGE": "a", "ELSE_STAGE": "b"}, "b": {}},
        {"a": {"BOUNCE_STAGE": "b"}, "b": {"NEXT_STAGE": "a"}},
    ],
)
def test_a_cycle_with_a_way_out_is_none(stages: dict[str, dict[str, str]]) -> None:
    assert check("a", stages) == ([], [])


def test_edges_are_every_key_that_ends_in_stage() -> None:
    found = graph.edges({"a": section("stage-a", NEXT_STAGE="b", THEN_STAGE="c", STAGES="d", CONDITION="e")})
    assert [(edge.source, edge.key, edge.target, edge.is_onward) for edge in found] == [
        ("a", "NEXT_STAGE", "b", True),
        ("a", "THEN_STAGE", "c", True),
    ]


NAMES = [f"s{number}" for number in range(6)]


@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.dictionaries(st.sampled_from(["NEXT_STAGE", "ELSE_STAGE", "BOUNCE_STAGE"]), st.sampled_from(NAMES)),
        min_size=6,
        max_size=6,
    )
)
def test_a_message_that_can_get_nowhere_gets_into_a_cycle_that_is_named(stages: dict[str, dict[str, str]]) -> None:
    """Against the definition: from where no walk ends, every walk goes round, and one such round is in a warning."""
    can_end = {name for name, ways in stages.items() if not ways.keys() - {"BOUNCE_STAGE"}}
    for _ in NAMES:
        can_end |= {name for name, ways in stages.items() if can_end & set(ways.values())}
    _, warnings = check("s0", stages)
    named = {name for warning in warnings if "cycle: " in warning for name in warning.split("cycle: ")[1].split(" -> ")}
    assert not named & can_end
    for start in stages.keys() - can_end:
        reached = {start}
        for _ in NAMES:
            reached |= {target for name in reached for target in stages[name].values()}
        assert reached & named
