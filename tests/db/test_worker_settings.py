"""A worker at mail whose correspondents have set different things, on a real server."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pepsi.config.load import load_text
from pepsi.db import messages, sync
from pepsi.db.statement import Statement
from pepsi.model import claim
from pepsi.model.settings import settings_address, settings_domain
from pepsi.stages.api import Advance, Changes, Message, Options, Outcome, Stage, boolean, text
from pepsi.worker.layers import Layers
from pepsi.worker.link import Link
from pepsi.worker.loop import Worker
from pepsi.worker.owed import Patience
from pepsi.worker.run import Runner
from pepsi.worker.section import options_of
from tests.support_database import Database
from tests.support_worker import EPOCH, TOKEN, claim_again, put, row


@dataclass(frozen=True, slots=True, kw_only=True)
class TagOptions(Options):
    """Two keys that can be set by address."""

    tag: str = text("none", doc="What to write.", per_address=True)
    loud: bool = boolean("no", doc="How.", per_address=True)


class Tag(Stage[TagOptions]):
    """Writes its options into the state."""

    name = "tag"
    Options = TagOptions

    def process(self, message: Message, options: TagOptions) -> Outcome:
        said = options.tag.upper() if options.loud else options.tag
        return Advance(stage="next", changes=Changes(state={"tag": said}))


class CountingLink(Link):
    """A link that remembers what it was asked."""

    def __init__(self, database: Database) -> None:
        super().__init__(lambda: self._prepared(database), lambda: 0.0, lambda: 0.0)
        self.asked: list[str] = []

    def _prepared(self, database: Database) -> Any:
        connection = database.connect("pepsi-stage-work")
        sync.run(connection, messages.prepare(Tag.needs))
        return connection

    def run(self, statement: Statement) -> list[tuple[Any, ...]]:
        self.asked.append(statement.text.split("(")[0])
        return super().run(statement)


CONFIG = load_text(
    "[pepsi-postgres]\nDSN = embedded\n[pepsi-ingress]\nENTRY_STAGE = work\n[stage-work]\nPROGRAM = x\nTAG = file\n"
)


def worker_on(link: Link) -> Worker:
    def parse(given: Any = None) -> TagOptions:
        made = options_of(Tag, CONFIG, "work", given)
        assert isinstance(made, TagOptions)
        return made

    patience = Patience(0.0, lambda: False, clock=lambda: 0.0, wait=lambda seconds: None, chance=lambda: 0.0)
    return Worker("work", EPOCH, link, Runner(Tag(), Layers("work", parse(), parse), lambda: 0.0), patience)


@pytest.fixture
def link(database: Database) -> Iterator[CountingLink]:
    with closing(CountingLink(database)) as made:
        yield made


def codes(worker: Worker, *ids: int) -> list[int]:
    return [answer.code for answer in worker.handle(list(ids))]


def setting(database: Database, address: str, key: str, value: str) -> None:
    database.rows(
        "INSERT INTO pepsi.settings (address, stage, key, value) VALUES (%(a)s, 'work', %(k)s, %(v)s)",
        a=address,
        k=key,
        v=value,
    )


def rows(database: Database) -> list[tuple[str, list[str], str | None]]:
    return database.rows("SELECT stage, recipients, state ->> 'tag' FROM pepsi.workqueue ORDER BY workqueue_id")


def test_what_is_set_costs_no_round_trip_of_its_own(database: Database, link: CountingLink) -> None:
    setting(database, "bob@example.net", "TAG", "bob")
    ids = put(database, *["x"] * 5)
    assert codes(worker_on(link), *ids) == [0] * 5
    assert [tag for _, _, tag in rows(database)] == ["bob"] * 5
    assert len(link.asked) == 2


def test_a_split_costs_one_and_the_first_group_runs_at_once(database: Database, link: CountingLink) -> None:
    setting(database, "@b.org", "TAG", "b")
    (number,) = put(database, "x", recipients=("a@a.org", "b@b.org", "c@c.org"))
    (other,) = put(database, "x", recipients=("a@a.org", "c@c.org"))
    assert codes(worker_on(link), number, other) == [0, 0]
    assert [text.split("\n")[0] for text in link.asked] == ["EXECUTE pepsi_load ", "SELECT %", "EXECUTE pepsi_settle "]
    assert rows(database) == [
        ("next", ["a@a.org", "c@c.org"], "file"),
        ("next", ["a@a.org", "c@c.org"], "file"),
        ("work", ["b@b.org"], None),
    ]


def test_a_setting_that_cannot_be_used_fails_its_message_and_no_other(database: Database, link: CountingLink) -> None:
    setting(database, "bad@a.org", "LOUD", "s3cret")
    ids = [*put(database, "x"), *put(database, "x", recipients=("bad@a.org",)), *put(database, "x")]
    assert codes(worker_on(link), *ids) == [0, 65, 0]
    found = [row(database, number) for number in ids]
    assert [each["status"] for each in found] == ["pending", "failed", "pending"]
    assert found[1]["state"]["failure_class"] == "permanent"
    assert "s3cret" not in found[1]["state"]["last_error"]


def test_one_recipients_bad_setting_costs_the_other_recipients_nothing(database: Database, link: CountingLink) -> None:
    setting(database, "bad@a.org", "LOUD", "perhaps")
    (number,) = put(database, "x", recipients=("a@a.org", "bad@a.org"))
    worker = worker_on(link)
    assert codes(worker, number) == [0]
    claim_again(database, number + 1)
    assert codes(worker, number + 1) == [65]
    assert [row(database, each)["status"] for each in (number, number + 1)] == ["pending", "failed"]


def test_a_message_that_is_taken_away_before_it_is_split_is_left_alone(database: Database, link: CountingLink) -> None:
    setting(database, "a@a.org", "TAG", "a")
    (number,) = put(database, "x", recipients=("a@a.org", "b@b.org"))
    worker = worker_on(link)
    ran = link.run

    def steal(statement: Statement) -> list[tuple[Any, ...]]:
        found = ran(statement)
        claim_again(database, number, token=claim.pack(EPOCH, 9))
        return found

    link.run = steal  # type: ignore[method-assign]
    assert codes(worker, number) == [0]
    assert rows(database) == [("work", ["a@a.org", "b@b.org"], None)]


def test_a_split_that_the_database_refuses_is_tried_again_and_costs_the_others_nothing(
    database: Database, link: CountingLink
) -> None:
    setting(database, "a@a.org", "TAG", "a")
    database.rows(
        "CREATE FUNCTION pepsi.no() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'not so' USING ERRCODE = '23514'; END $$"
    )
    ids = [*put(database, "x", recipients=("a@a.org", "b@b.org")), *put(database, "x")]
    database.rows("CREATE TRIGGER no BEFORE INSERT ON pepsi.workqueue FOR EACH ROW EXECUTE FUNCTION pepsi.no()")
    assert codes(worker_on(link), *ids) == [0, 0]
    assert [row(database, number)["status"] for number in ids] == ["paused", "pending"]
    assert row(database, ids[0])["recipients"] == ["a@a.org", "b@b.org"]


def test_a_connection_lost_while_it_splits_is_nobodys_fault(database: Database, link: CountingLink) -> None:
    setting(database, "a@a.org", "TAG", "a")
    (number,) = put(database, "x", recipients=("a@a.org", "b@b.org"))
    database.rows(
        "CREATE FUNCTION pepsi.cut() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$"
    )
    database.rows("CREATE TRIGGER cut BEFORE INSERT ON pepsi.workqueue FOR EACH ROW EXECUTE FUNCTION pepsi.cut()")
    worker = worker_on(link)
    assert codes(worker, number) == [74]
    database.rows("DROP TRIGGER cut ON pepsi.workqueue")
    assert codes(worker, number) == [0]
    assert rows(database) == [("next", ["a@a.org"], "a"), ("work", ["b@b.org"], None)]


ADDRESSES = st.sampled_from(["a@x.org", "A@X.org", "b@x.org", "c@y.org", '"a"@x.org', "postmaster", "d@z"])
PLACES = st.sampled_from(["*", "@x.org", "@y.org", "a@x.org", "b@x.org", "c@y.org", "postmaster"])
SETS = st.dictionaries(st.tuples(PLACES, st.sampled_from(["TAG", "LOUD"])), st.sampled_from(["yes", "no"]), max_size=6)


def expected(entries: dict[tuple[str, str], str], address: str) -> tuple[str | None, ...]:
    """Return what wins for *address*, key by key."""
    places = [settings_address(address), settings_domain(address), "*"]
    return tuple(
        next((entries[place, key] for place in places if place and (place, key) in entries), None)
        for key in ("TAG", "LOUD")
    )


@settings(max_examples=60, deadline=None)
@given(SETS, st.lists(ADDRESSES, min_size=1, max_size=6), st.booleans())
def test_whatever_is_set_each_recipient_gets_just_that_in_as_few_rows_as_can_be(
    shared_database: Database, entries: dict[tuple[str, str], str], recipients: list[str], local: bool
) -> None:
    database = shared_database
    database.rows("DELETE FROM pepsi.workqueue")
    database.rows("DELETE FROM pepsi.settings")
    for (address, key), value in entries.items():
        setting(database, address, key, value)
    (number,) = put(
        database, "x", recipients=tuple(recipients), mail_from="c@y.org", state={"local_origin": True} if local else {}
    )
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for recipient in recipients:
        groups.setdefault(expected(entries, "c@y.org" if local else recipient), []).append(recipient)
    with closing(CountingLink(database)) as link:
        worker = worker_on(link)
        assert codes(worker, number) == [0]
        rest = [found for (found,) in database.rows("SELECT workqueue_id FROM pepsi.workqueue WHERE stage = 'work'")]
        assert len(rest) == len(groups) - 1
        claim_again(database, *rest, token=TOKEN)
        asked = len(link.asked)
        assert codes(worker, *rest) == [0] * len(rest) if rest else True
        assert len(link.asked) - asked == (2 if rest else 0), "what is of one mind already is not split"
    said = {
        key: ((tag or "file").upper() if loud == "yes" else (tag or "file")) for key in groups for tag, loud in (key,)
    }
    assert rows(database) == [("next", group, said[key]) for key, group in groups.items()]
