"""What correspondents have set counts for each stage of a pass, and splits a message where it would be split anyhow."""

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pepsi.stages.api import Advance, Changes, Message, Outcome, Pause, text
from tests.db.fused import Script, ScriptOptions, configured, plant
from tests.support_database import Database
from tests.support_worker import put, row

STAGES = ("a", "b", "c", "d")
SECTIONS = {
    "a": {"NEXT_STAGE": "b"},
    "b": {"NEXT_STAGE": "c"},
    "c": {"NEXT_STAGE": "d"},
    "d": {"NEXT_STAGE": "end"},
    "end": {"PROGRAM": "python none.py"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkOptions(ScriptOptions):
    """A key that can be set by address."""

    mark: str = text("none", doc="What to write.", per_address=True)


class Mark(Script):
    """Writes down where it was and with which MARK; ``move`` has the message go to others, ``mine`` makes it local."""

    Options = MarkOptions

    def process(self, message: Message, options: ScriptOptions) -> Outcome:
        assert isinstance(options, MarkOptions)
        if options.next_stage is None:
            return Pause(delay=None)
        state: dict[str, Any] = {"marks": [*message.state.get("marks", []), options.mark]}
        if options.mark == "mine":
            state["local_origin"] = True
        changes = Changes(recipients=("c@y.org", "a@x.org") if options.mark == "move" else None, state=state)
        return Advance(stage=options.next_stage, changes=changes)


def prepare(database: Database, entries: dict[tuple[str, str], str]) -> None:
    database.rows("DELETE FROM pepsi.workqueue")
    database.rows("DELETE FROM pepsi.settings")
    for (address, stage), value in entries.items():
        database.rows(
            "INSERT INTO pepsi.settings (address, stage, key, value) VALUES (%(a)s, %(s)s, 'MARK', %(v)s)",
            a=address,
            s=stage,
            v=value,
        )


def outcome(database: Database, recipients: list[str], *, fused: bool) -> tuple[int, list[str]]:
    """Return how many passes it took, and the rows that came out, in some order."""
    database.rows("DELETE FROM pepsi.workqueue")
    put(database, "x", stage="a", recipients=tuple(recipients), mail_from="b@x.org")
    database.rows("UPDATE pepsi.workqueue SET status = 'pending', claim = NULL")
    with plant(database, configured(SECTIONS), Mark, fused=fused) as made:
        passes = made.settle(random.Random(1))
    text = "SELECT stage, status, recipients, state FROM pepsi.workqueue"
    return passes, sorted(map(repr, database.rows(text)))


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["*", "@x.org", "a@x.org", "b@x.org", "c@y.org"]), st.sampled_from(STAGES)),
        st.sampled_from(["1", "2", "move", "mine", ""]),
        max_size=8,
    ),
    st.lists(st.sampled_from(["a@x.org", "b@x.org", "c@y.org", "d@z.org"]), min_size=1, max_size=4),
)
def test_with_any_settings_a_fused_chain_ends_as_one_that_is_not(
    shared_database: Database, entries: dict[tuple[str, str], str], recipients: list[str]
) -> None:
    prepare(shared_database, entries)
    fused, plain = (outcome(shared_database, recipients, fused=fused) for fused in (True, False))
    assert fused[1] == plain[1]
    assert 0 < fused[0] <= plain[0]


def test_what_is_set_for_a_stage_further_on_is_loaded_with_the_first_one(database: Database) -> None:
    prepare(database, {("@x.org", "c"): "set"})
    (number,) = put(database, "x", stage="a", recipients=("a@x.org", "b@x.org"))
    with plant(database, configured(SECTIONS), Mark) as made:
        (answer,) = made.worker("a").handle([number])
        assert made.links["a"].asked == 2
    assert [part.stage for part in answer.report] == ["b", "c", "d"]
    assert row(database, number)["state"]["marks"] == ["none", "none", "set", "none"]


def test_a_chain_ends_before_the_stage_that_splits_and_the_copies_have_what_was_changed(database: Database) -> None:
    prepare(database, {("a@x.org", "c"): "set"})
    (number,) = put(database, "x", stage="a", recipients=("a@x.org", "b@x.org"))
    with plant(database, configured(SECTIONS), Mark) as made:
        (answer,) = made.worker("a").handle([number])
        assert [part.stage for part in answer.report] == ["b"]
        (answer,) = made.handle("c", [number])
    assert [part.stage for part in answer.report] == ["d"]
    rows = database.rows("SELECT stage, recipients, state -> 'marks' FROM pepsi.workqueue ORDER BY workqueue_id")
    assert rows == [("end", ["a@x.org"], ["none", "none", "set", "none"]), ("c", ["b@x.org"], ["none", "none"])]


def test_of_correspondents_that_a_stage_put_in_the_settings_are_loaded_anew(database: Database) -> None:
    prepare(database, {("@x.org", "a"): "move", ("c@y.org", "b"): "new", ("a@x.org", "b"): "new"})
    (number,) = put(database, "x", stage="a", recipients=("a@x.org",))
    with plant(database, configured(SECTIONS), Mark) as made:
        (answer,) = made.worker("a").handle([number])
        assert answer.report == ()
        made.handle("b", [number])
    assert row(database, number)["state"]["marks"] == ["move", "new", "none", "none"]
