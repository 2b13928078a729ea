"""What correspondents have set, as it is kept, loaded with a message, and shares it out."""

import json
from typing import Any

import psycopg2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pepsi.db import messages, sync
from pepsi.db.statement import Statement
from pepsi.model.message import Message, Need
from pepsi.model.settings import Group, Wanted, settings_address, settings_domain
from tests.db.queue import TOKEN, Queue
from tests.support_database import Database

WANTED = Wanted(("a",), ("K", "L"))
HOSTILE = "'; DROP TABLE pepsi.settings; --\x1b[2J\\\"%s$$"


def put(database: Database, *entries: tuple[str, str, str, str]) -> None:
    for address, stage, key, value in entries:
        database.rows(
            "INSERT INTO pepsi.settings (address, stage, key, value) VALUES (%(a)s, %(s)s, %(k)s, %(v)s)",
            a=address,
            s=stage,
            k=key,
            v=value,
        )


def load(queue: Queue, number: int, wanted: Wanted = WANTED, need: Need = Need.METADATA) -> Message:
    connection = queue.database.connect()
    sync.run(connection, messages.prepare(need))
    rows = sync.run(connection, messages.load([number], wanted))
    connection.close()
    return messages.loaded(rows, wanted)[number]


@settings(max_examples=1000, deadline=None)
@given(
    st.text(
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from('aB"\\@.* '), max_size=20
    )
)
def test_the_database_and_we_keep_an_address_the_same_way(shared_database: Database, address: str) -> None:
    assert shared_database.value("SELECT pepsi.settings_address(%(a)s)", a=address) == settings_address(address)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text(st.sampled_from('aB"\\@.*xÄ '), min_size=1, max_size=8), min_size=1, max_size=5),
    st.sampled_from([{}, {"local_origin": True}, {"local_origin": "true"}, {"local_origin": None}]),
)
def test_all_that_counts_for_a_correspondent_is_loaded_and_nothing_else(
    shared_database: Database, recipients: list[str], state: dict[str, Any]
) -> None:
    sender, whose = "Me@Here", ["Me@Here"] if state == {"local_origin": True} else recipients
    places = {settings_address(each) for each in whose} | {settings_domain(each) for each in whose} | {"*"}
    shared_database.rows("DELETE FROM pepsi.settings")
    others = {"else@where", "@where", "@here", "a@b", "@b"}
    put(shared_database, *((place, "a", "K", "v") for place in places | others if place))
    put(shared_database, ("*", "a", "M", "v"), ("*", "b", "K", "v"))
    found = shared_database.value(
        "SELECT pepsi.settings_of('{a}', '{K,L}', %(f)s, %(r)s::text[], %(s)s::jsonb)",
        f=sender,
        r=recipients,
        s=json.dumps(state),
    )
    assert sorted(found) == sorted([place, "a", "K", "v"] for place in places if place)


@pytest.mark.parametrize("need", Need)
def test_what_is_set_comes_with_the_message(queue: Queue, need: Need) -> None:
    put(queue.database, ("r@example.org", "a", "K", HOSTILE), ("*", "a", "L", "x"), ("*", "a", "PROGRAM", "x"))
    message = load(queue, queue.running(recipients=["R@Example.org", "s@example.org"]), need=need)
    assert message.settings.groups("a", message.recipients, frozenset("KL")) == (
        Group((("K", HOSTILE), ("L", "x")), ("R@Example.org",)),
        Group((("L", "x"),), ("s@example.org",)),
    )


def test_a_stage_without_such_keys_loads_none(queue: Queue) -> None:
    put(queue.database, ("*", "a", "K", "x"))
    message = load(queue, queue.running(), Wanted())
    assert message.settings.entries == {}
    assert not message.settings.tell("a", message.recipients)


def test_of_ten_thousand_recipients_each_is_looked_up_once_and_no_other_is_read(queue: Queue) -> None:
    queue.database.rows("ALTER TABLE pepsi.settings SET (autovacuum_enabled = off)")
    recipients = [f"Rcpt{n}@example.org" for n in range(10_000)]
    number = queue.running(recipients=recipients)
    session = queue.database.connect()
    sync.run(session, messages.prepare(Need.METADATA))
    sync.run(session, messages.load([number], WANTED))
    queue.database.rows(
        "INSERT INTO pepsi.settings SELECT 'rcpt' || n || '@example.' || t, 'a', 'K', n % 2 "
        "FROM generate_series(1, 10000) n, unnest('{org,com,net}'::text[]) t"
    )
    sync.run(session, Statement("BEGIN"))
    rows = sync.run(session, messages.load([number], WANTED))
    ((scanned, read),) = sync.run(
        session,
        Statement(
            "SELECT (SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relid = 'pepsi.settings'::regclass), "
            "pg_stat_get_xact_tuples_returned('pepsi.settings_pkey'::regclass)"
        ),
    )
    sync.run(session, Statement("COMMIT"))
    # The one row more is that which tells that something is set at the stage at all.
    assert (scanned, read) == (0, 10_000)
    message = messages.loaded(rows, WANTED)[number]
    groups = message.settings.groups("a", message.recipients, frozenset("K"))
    assert [len(group.recipients) for group in groups] == [1, 5000, 4999]


def test_the_table_takes_nothing_that_would_never_be_found_or_is_too_large(queue: Queue) -> None:
    for entry, constraint in (
        (("Bob@x", "a", "K", "v"), "settings_address"),
        (("", "a", "K", "v"), "settings_address"),
        (("b" * 1000 + "@x", "a", "K", "v"), "settings_size"),
        (("b@x", "a", "K" * 101, "v"), "settings_size"),
        (("b@x", "a", "K", "v" * 4001), "settings_size"),
    ):
        with pytest.raises(psycopg2.errors.CheckViolation, match=constraint):
            put(queue.database, entry)


def split(queue: Queue, number: int, groups: object, claim: int = TOKEN) -> bool:
    done: bool = queue.database.value(
        "SELECT pepsi.workqueue_split(%(id)s, %(claim)s, %(groups)s::jsonb)",
        id=number,
        claim=claim,
        groups=json.dumps(groups),
    )
    return done


def test_the_first_group_stays_and_every_other_is_a_pending_row_with_all_else_the_same(queue: Queue) -> None:
    state = {"strikes": 2, "temporary_failures": 1, "interrupted": 1, "kept": {"a": [1]}}
    number = queue.running(
        recipients=["a@x", "b@x", "c@x", "d@x"], state=state, peer="2001:db8::1", auth_login="anna", mail_from="f@x"
    )
    queue.database.rows("UPDATE pepsi.workqueue SET received_at = '2020-01-01', header_block = 'H: x'")
    assert split(queue, number, [["a@x", "c@x"], ["d@x"], ["b@x"]])
    first, second, third = (queue.row(each) for each in queue.ids())
    assert first["workqueue_id"] == number
    assert (first["status"], first["claim"], first["state"]) == ("running", TOKEN, state)
    assert [row["recipients"] for row in (first, second, third)] == [["a@x", "c@x"], ["d@x"], ["b@x"]]
    changed = ("workqueue_id", "recipients", "status", "claim", "state")
    for row in (second, third):
        assert (row["status"], row["claim"], row["state"]) == ("pending", None, {"kept": {"a": [1]}})
        assert {key: row[key] for key in row if key not in changed} == {
            key: first[key] for key in first if key not in changed
        }
    assert queue.bodies() == 1


def test_nobody_is_told_of_a_split(queue: Queue) -> None:
    number = queue.running(recipients=["a@x", "b@x"])
    ears = queue.database.connect()
    with ears.cursor() as cursor:
        cursor.execute("LISTEN workqueue; LISTEN workqueue_repair")
        assert split(queue, number, [["a@x"], ["b@x"]])
        cursor.execute("SELECT 1")
    ears.poll()
    assert ears.notifies == []


def test_a_split_without_the_claim_does_nothing(queue: Queue) -> None:
    number = queue.running(recipients=["a@x", "b@x"])
    assert not split(queue, number, [["a@x"], ["b@x"]], claim=TOKEN + 1)
    assert not split(queue, number + 1, [["a@x"], ["b@x"]])
    assert queue.row(number)["recipients"] == ["a@x", "b@x"]
    assert queue.ids() == [number]


@pytest.mark.parametrize(
    "groups",
    [
        [["a@x"]],
        [["a@x"], ["b@x"], ["c@x"]],
        [["a@x"], ["a@x"]],
        [["a@x", "b@x"], []],
        [[], ["a@x", "b@x"]],
        [],
        [["a@x"], ["b@x", None]],
        {"a@x": 1},
        [["a@x"], "b@x"],
    ],
)
def test_a_split_neither_loses_nor_invents_a_recipient(queue: Queue, groups: object) -> None:
    number = queue.running(recipients=["a@x", "b@x"])
    with pytest.raises((psycopg2.DataError, psycopg2.IntegrityError)):
        split(queue, number, groups)
    assert queue.row(number)["recipients"] == ["a@x", "b@x"]
    assert queue.ids() == [number]


def test_a_recipient_that_is_there_twice_stays_so(queue: Queue) -> None:
    number = queue.running(recipients=["a@x", "b@x", "a@x"])
    assert split(queue, number, [["a@x", "a@x"], ["b@x"]])
    assert [queue.row(each)["recipients"] for each in queue.ids()] == [["a@x", "a@x"], ["b@x"]]


def test_hostile_recipients_are_split_as_any_other(queue: Queue) -> None:
    recipients = [HOSTILE, '{"a","b"}', "null", "\\", '"', "ä\u2028@x"]
    number = queue.running(recipients=recipients)
    assert split(queue, number, [[each] for each in recipients])
    assert [queue.row(each)["recipients"] for each in queue.ids()] == [[each] for each in recipients]
