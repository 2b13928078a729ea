"""Ids and counters keep working when they no longer fit into 32 bits, or into a float of JSON."""

import pytest

from pepsi.db.inject import insert
from pepsi.model.envelope import Arrival
from tests.db.queue import EPOCH, TOKEN, Queue


def test_every_sequence_and_every_counter_is_wide(queue: Queue) -> None:
    narrow = queue.database.rows(
        "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid "
        "WHERE relnamespace = 'pepsi'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped "
        "AND atttypid IN ('int2'::regtype, 'int4'::regtype)"
    )
    assert narrow == [("workqueue", "size")]
    assert queue.database.value("SELECT count(*) FROM pg_sequence WHERE seqtypid <> 'int8'::regtype") == 0


@pytest.mark.parametrize("start", [2**31 - 2, 2**53 - 2])
def test_a_message_lives_its_whole_life_beyond(queue: Queue, start: int) -> None:
    for sequence in ("pepsi.workqueue_workqueue_id_seq", "pepsi.workqueue_body_body_id_seq"):
        queue.database.rows("SELECT setval(%(sequence)s, %(start)s)", sequence=sequence, start=start)
    ids = [queue.running() for _ in range(4)]
    assert ids == list(range(start + 1, start + 5))
    calls = [
        "workqueue_advance(%(id)s, %(claim)s, 'b', body => 'new')",
        'workqueue_pause(%(id)s, %(claim)s, 60, clones => \'[{"stage": "b"}]\')',
        "workqueue_fail(%(id)s, %(claim)s, 'reason')",
        "workqueue_finish(%(id)s, %(claim)s)",
    ]
    for number, call in zip(ids, calls, strict=True):
        assert queue.database.rows("SELECT FROM pepsi.workqueue_load(%(id)s, %(epoch)s)", id=number, epoch=EPOCH)
        assert queue.database.value(f"SELECT pepsi.{call}", id=number, claim=TOKEN)
    arrival = Arrival(mail_from="", recipients=("a@b",), message=b"\r\n")
    assert queue.database.run(insert([arrival], "a")) == [(start + 6,)]
    assert queue.database.value("SELECT pepsi.workqueue_resume(%(id)s)", id=ids[1])
    queue.database.rows("DELETE FROM pepsi.workqueue")
    assert queue.bodies() == 0
