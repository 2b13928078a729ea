"""Declaring keys."""

import enum
from dataclasses import dataclass
from pathlib import Path

import pytest

from pepsi.config.option import boolean, choice, declared, duration, integer, path, size, stage, text, words
from pepsi.config.options import Dispatch, Pepsi, Postgres, StageOptions
from pepsi.config.section import Entry, RawSection, parse_section


class Policy(enum.StrEnum):
    MAY = "may"
    MUST = "must"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    needed: str = text(required=True, doc="Must be there.")
    policy: Policy = choice("may", choices=Policy, doc="How strict.")
    mode: str | None = choice(None, choices=("fast", "slow"), unset="it is found out", doc="How.")
    count: int = integer(4, low=1, high=8, doc="How many.", per_address=True)
    pause: float | None = duration(None, low=1, doc="How long.")
    most: int = size("64 MiB", high=2**30, doc="How big.")
    loud: bool = boolean(False, doc="Whether.")
    names: tuple[str, ...] = words("a b", doc="Who.")
    place: Path = path("here", doc="Where.")


def entries(**values: str) -> RawSection:
    return RawSection(
        "sample",
        1,
        {key: Entry(value, "pepsi.conf", line) for line, (key, value) in enumerate(values.items(), 2)},
        directory=Path("/etc/pepsi"),
    )


def test_a_declaration_tells_all_that_a_manual_says() -> None:
    assert [(d.key, d.type_name, d.default, d.bounds, d.required, d.per_address) for d in declared(Sample)] == [
        ("NEEDED", "text", "", "", True, False),
        ("POLICY", "choice", "may", "", False, False),
        ("MODE", "choice", "", "", False, False),
        ("COUNT", "integer", "4", "1 to 8", False, True),
        ("PAUSE", "duration", "", "at least 1 s", False, False),
        ("MOST", "size", "64 MiB", "at most 1 GiB", False, False),
        ("LOUD", "boolean", "no", "", False, False),
        ("NAMES", "words", "a b", "", False, False),
        ("PLACE", "path", "here", "", False, False),
    ]


def test_defaults_are_values_whichever_way_they_were_declared() -> None:
    assert Sample(needed="x") == Sample(
        needed="x",
        policy=Policy.MAY,
        mode=None,
        count=4,
        pause=None,
        most=67_108_864,
        loud=False,
        names=("a", "b"),
        place=Path("here"),
    )


def test_a_section_becomes_the_values_that_it_says() -> None:
    section = entries(NEEDED="x", POLICY="must", COUNT="8", PAUSE="2 min", LOUD="yes", NAMES="c", PLACE="over/there")
    assert parse_section(Sample, section) == (
        Sample(
            needed="x",
            policy=Policy.MUST,
            count=8,
            pause=120.0,
            loud=True,
            names=("c",),
            place=Path("/etc/pepsi/over/there"),
        ),
        [],
    )


def test_every_error_of_a_section_is_told_at_once_in_the_order_of_its_lines() -> None:
    section = entries(POLICY="perhaps", COUNT="9", PAUSE="500 ms", NAME="x", MOST="2 GiB")
    value, problems = parse_section(Sample, section)
    assert value is None
    assert [str(problem) for problem in problems] == [
        "pepsi.conf:1: [sample] NEEDED: this key must be set; its value is a text: Must be there.",
        "pepsi.conf:2: [sample] POLICY = perhaps: expected one of may, must",
        "pepsi.conf:3: [sample] COUNT = 9: expected 1 to 8",
        "pepsi.conf:4: [sample] PAUSE = 500 ms: expected at least 1 s",
        "pepsi.conf:5: [sample] NAME = x: no such key; did you mean NAMES?",
        "pepsi.conf:6: [sample] MOST = 2 GiB: expected at most 1 GiB",
    ]


def test_unknown_keys_can_be_left_to_somebody_else() -> None:
    value, problems = parse_section(Sample, entries(NEEDED="x", WHATEVER="y"), ignore_unknown=True)
    assert (value, problems) == (Sample(needed="x"), [])


def test_a_rule_over_several_keys_is_an_error_of_the_section() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Ruled:
        low: int = integer(1, doc="Least.")
        high: int = integer(2, doc="Most.")

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("LOW must not be above HIGH")

    value, problems = parse_section(Ruled, entries(LOW="3"))
    assert value is None
    assert [str(problem) for problem in problems] == ["pepsi.conf:1: [sample]: LOW must not be above HIGH"]


def test_a_stage_can_declare_a_common_key_anew() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Strict(StageOptions):
        next_stage: str = stage(required=True, doc="Where to.")

    keys = {option.key: option for option in declared(Strict)}
    assert keys["NEXT_STAGE"].required
    assert list(keys) == [option.key for option in declared(StageOptions)]
    value, problems = parse_section(Strict, entries(PROGRAM="x"))
    assert value is None
    assert [problem.key for problem in problems] == ["NEXT_STAGE"]


def test_a_bound_on_what_has_no_size_is_a_mistake_of_the_programmer() -> None:
    with pytest.raises(TypeError, match="a text has no bounds"):
        text("x", doc="y", low=1)


@pytest.mark.parametrize("cls", [Pepsi, Postgres, Dispatch, StageOptions])
def test_every_key_is_explained_in_a_sentence_and_its_default_is_within_its_bounds(cls: type) -> None:
    for option in declared(cls):
        assert option.doc[0].isupper(), option.key
        assert option.doc.endswith("."), option.key
        if option.default and not option.computed:
            option.parse(option.default)


def test_only_the_dispatchers_business_is_kept_from_correspondents() -> None:
    assert not any(option.per_address for option in declared(StageOptions))


def test_a_password_in_a_dsn_shows_neither_in_a_repr_nor_in_an_error() -> None:
    assert "hunter2" not in repr(Postgres(dsn="host=x password=hunter2"))
    _, problems = parse_section(Postgres, entries(DSN="hunter2"))
    assert str(problems[0]).startswith("pepsi.conf:2: [sample] DSN = (not shown): expected embedded, a URL such as")


@pytest.mark.parametrize("key", ["SMTP_PASSWORD", "API_TOKEN", "SECRET"])
def test_a_secret_under_a_key_that_does_not_exist_is_not_shown_either(key: str) -> None:
    _, problems = parse_section(Pepsi, entries(**{key: "hunter2"}))
    assert [str(problem) for problem in problems] == [f"pepsi.conf:2: [sample] {key} = (not shown): no such key"]


def test_a_long_or_hostile_value_is_shown_on_one_short_line() -> None:
    _, problems = parse_section(Dispatch, entries(POLL_INTERVAL="\x1b[2J" + "x" * 1000))
    line = str(problems[0])
    assert line.isprintable()
    assert len(line) < 300
    assert line.endswith("xxx...: expected a duration such as 300, 250 ms, 5 s, 2 min, 120 h or 1 d")
