"""Messages put in a batch at a time."""

import select

import psycopg2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pepsi.db import sync
from pepsi.db.inject import insert
from pepsi.model.envelope import Arrival, split_message
from tests.support_database import Database


def arrival(number: int = 0, **given: object) -> Arrival:
    values: dict[str, object] = {
        "mail_from": f"sender{number}@example.org",
        "recipients": (f"recipient{number}@example.net",),
        "message": b"Subject: %d\r\n\r\nbody %d\r\n" % (number, number),
    }
    return Arrival(**{**values, **given})


def inject(database: Database, *arrivals: Arrival) -> list[int]:
    return [number for (number,) in database.run(insert(arrivals, "entry"))]


def test_ids_come_back_in_the_order_of_the_batch(database: Database) -> None:
    ids = inject(database, *(arrival(number) for number in range(50)))
    assert ids == sorted(ids)
    rows = database.rows("SELECT workqueue_id, subject FROM pepsi.workqueue")
    assert dict(rows) == {number: str(place) for place, number in enumerate(ids)}


def test_a_row_holds_all_of_an_arrival(database: Database) -> None:
    message = b"From: =?utf-8?q?J=C3=B6rg?= <j@example.org>\r\nSubject: hello\r\n\r\nbody\0\xff\r\n"
    given = arrival(message=message, peer="2001:db8::1", auth_login="joerg", state={"smtp": {"body": "8BITMIME"}})
    inject(database, given)
    ((*envelope, header_block),) = database.rows(
        "SELECT mail_from, recipients, header_from, subject, host(peer), auth_login, state, size, header_block "
        "FROM pepsi.workqueue"
    )
    assert envelope == [
        "sender0@example.org",
        ["recipient0@example.net"],
        "Jörg <j@example.org>",
        "hello",
        "2001:db8::1",
        "joerg",
        {"smtp": {"body": "8BITMIME"}},
        len(message),
    ]
    assert header_block is None
    ((stage, status),) = database.rows("SELECT stage, status FROM pepsi.workqueue")
    assert (stage, status) == ("entry", "pending")
    ((header_block, body),) = database.rows("SELECT header_block, body FROM pepsi.workqueue_body")
    assert (bytes(header_block), bytes(body)) == split_message(message)


def test_a_batch_wakes_the_dispatcher_once(database: Database) -> None:
    listener = database.connect()
    sync.run(listener, sync.Statement("LISTEN workqueue"))
    inject(database, *(arrival(number) for number in range(20)))
    select.select([listener], [], [], 10)
    listener.poll()
    assert [note.payload for note in listener.notifies] == [""]


def test_a_bad_arrival_leaves_nothing_of_its_batch(database: Database) -> None:
    with pytest.raises(psycopg2.errors.InvalidTextRepresentation):
        inject(database, arrival(), arrival(peer="nonsense"))
    assert database.value("SELECT count(*) FROM pepsi.workqueue_body") == 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    message=st.binary(max_size=300),
    sender=st.text(st.characters(exclude_categories=()), max_size=80),
    key=st.text(st.characters(exclude_categories=()), max_size=20),
)
def test_whatever_the_bytes_they_come_back(shared_database: Database, message: bytes, sender: str, key: str) -> None:
    given = arrival(mail_from=sender, auth_login=sender, message=message, state={key: [key]})
    ((number,),) = shared_database.run(insert([given], "entry"))
    ((header_block, body),) = shared_database.rows(
        "SELECT b.header_block, b.body FROM pepsi.workqueue JOIN pepsi.workqueue_body b USING (body_id) "
        "WHERE workqueue_id = %(number)s",
        number=number,
    )
    assert bytes(header_block) + bytes(body) == message
    # A database can split a message as well; both must cut it at the same place.
    other = shared_database.value("SELECT pepsi.workqueue_inject('entry', '', '{a@b}', %(message)s)", message=message)
    assert shared_database.rows(
        "SELECT b.header_block, b.body FROM pepsi.workqueue JOIN pepsi.workqueue_body b USING (body_id) "
        "WHERE workqueue_id = ANY (%(numbers)s) GROUP BY 1, 2 HAVING count(*) = 2",
        numbers=[number, other],
    )
