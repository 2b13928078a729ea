"""The options of a stage for one message."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from pepsi.model.message import Message
from pepsi.model.settings import Group, Settings, Wanted, correspondents, settings_of
from pepsi.stages.api import Advance, Options, Outcome, Refuse, Stage, boolean, integer, text
from pepsi.testing import message
from pepsi.worker.layers import CACHED, NEVER, Layers, overridable, wanted
from pepsi.worker.section import options_alone

A, B = "a@x.org", "b@y.org"


@dataclass(frozen=True, slots=True, kw_only=True)
class Own(Options):
    """A stage's own keys, some of them careless."""

    tag: str = text("none", doc="A word.", per_address=True)
    loud: bool = boolean("no", doc="How.", per_address=True)
    fixed: str = text("so", doc="For all.")
    queue_limit: int = integer(4, doc="Declared again.", per_address=True)

    def __post_init__(self) -> None:
        if self.loud and self.tag == "none":
            raise ValueError("expected a TAG where LOUD = yes")


class Made(Stage[Own]):
    """Does nothing with them."""

    name = "made"
    Options = Own

    def process(self, message: Message, options: Own) -> Outcome:
        return Advance(stage="next")


class Parse:
    """Parses as a worker does, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, given: Mapping[str, str]) -> Own:
        self.calls += 1
        made = options_alone(Made, given)
        assert isinstance(made, Own)
        return made


def layers(parse: Parse | None = None) -> Layers[Own]:
    return Layers("s", Own(program="x"), parse or Parse())


def to(*recipients: str, state: dict[str, object] | None = None, **places: dict[str, str]) -> Message:
    """Return a message with what is set at the stage s."""
    made = message(mail_from="me@z.org", recipients=recipients, state=state or {})
    names = {"everybody": "*", "domain": "@x.org", "a": A, "b": B, "sender": "me@z.org"}
    entries = [(names[place], "s", key, value) for place, keys in places.items() for key, value in keys.items()]
    whose = correspondents(made.mail_from, made.recipients, made.state)
    return replace(made, settings=settings_of(Wanted(("s",), ("TAG", "LOUD", "FIXED", "PROGRAM")), whose, entries))


def test_what_nobody_has_set_is_as_the_section_has_it() -> None:
    made = layers()
    assert made.resolve(to(A)) is made.options
    assert made.resolve(message()) is made.options


def test_what_is_set_lies_upon_the_section() -> None:
    found = layers().resolve(to(A, everybody={"TAG": "all"}, domain={"TAG": "x"}, a={"LOUD": "yes"}))
    assert isinstance(found, Own)
    assert (found.tag, found.loud) == ("x", True)


def test_keys_of_the_stage_and_its_workers_are_nobodys_to_set() -> None:
    assert overridable(Own) == {"TAG", "LOUD"}
    assert {"PROGRAM", "PARALLELISM", "QUEUE_LIMIT", "MAX_MESSAGES", "MAX_RUNTIME", "FUSION"} == NEVER
    made = layers()
    given = {"PROGRAM": "sh", "FIXED": "other", "QUEUE_LIMIT": "1", "MAX_RUNTIME": "1 d", "NO_SUCH_KEY": "x"}
    assert made.resolve(to(A, a=given)) is made.options


def test_recipients_who_have_set_different_things_are_groups() -> None:
    assert layers().resolve(to(A, B, a={"TAG": "x"})) == (Group((("TAG", "x"),), (A,)), Group((), (B,)))


def test_mail_that_was_handed_in_here_goes_by_its_sender_and_is_never_split() -> None:
    found = layers().resolve(to(A, B, state={"local_origin": True}, a={"TAG": "x"}, sender={"TAG": "mine"}))
    assert isinstance(found, Own)
    assert found.tag == "mine"


@pytest.mark.parametrize("given", [{"LOUD": "s3cret"}, {"LOUD": "yes"}, {"TAG": ""}])
def test_what_makes_the_section_unusable_is_the_correspondents_fault_and_is_not_repeated(given: dict[str, str]) -> None:
    with pytest.raises(Refuse) as caught:
        layers().resolve(to(A, a=given))
    (key,) = given
    assert f"set by address of {key} for the stage s" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_of_correspondents_that_a_stage_put_in_nothing_is_known() -> None:
    loaded = to(A)
    assert layers().resolve(replace(loaded, recipients=(B,))) is None
    assert layers().resolve(replace(loaded, state={"local_origin": True})) is None
    assert layers().resolve(replace(loaded, settings=Settings(frozenset(("other",)), None))) is None


def test_a_stage_without_such_keys_does_not_look() -> None:
    made = Layers("s", Options(program="x"), lambda given: Options(program="y"))
    assert made.resolve(replace(to(A), recipients=(B,))) is made.options
    assert wanted({"s": made.keys}) == Wanted()
    assert wanted({"t": made.keys, "s": layers().keys}) == Wanted(("s",), ("LOUD", "TAG"))


def test_what_comes_again_is_parsed_once_and_not_all_is_kept() -> None:
    parse = Parse()
    made = layers(parse)
    first = made.resolve(to(A, a={"TAG": "0"}))
    assert made.resolve(to(A, a={"TAG": "0"})) is first
    assert parse.calls == 1
    for number in range(1, CACHED + 1):
        made.resolve(to(A, a={"TAG": str(number)}))
    assert made.resolve(to(A, a={"TAG": "0"})) == first
    assert parse.calls == CACHED + 2
