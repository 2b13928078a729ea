"""Bodies that several rows share: they go with the last of these, and never before."""

import json
import threading

from psycopg2.extensions import connection as Connection

from pepsi.db import sync
from pepsi.db.statement import Statement
from tests.db.queue import TOKEN, Queue

WAITERS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def siblings(queue: Queue, count: int) -> list[int]:
    """Make *count* rows that share one body."""
    number = queue.running()
    clones = json.dumps([{"stage": "a"}] * count)
    assert queue.database.value(
        "SELECT pepsi.workqueue_finish(%(id)s, %(claim)s, %(clones)s)", id=number, claim=TOKEN, clones=clones
    )
    return queue.ids()


def delete(connection: Connection, *ids: int) -> None:
    sync.run(
        connection, Statement("DELETE FROM pepsi.workqueue WHERE workqueue_id = ANY (%(ids)s)", {"ids": list(ids)})
    )


def test_a_body_stays_until_its_last_row_goes(queue: Queue) -> None:
    first, second, third = siblings(queue, 3)
    connection = queue.database.connect()
    delete(connection, first)
    assert queue.bodies() == 1
    delete(connection, second, third)
    assert queue.bodies() == 0


def test_many_rows_deleted_by_one_statement_take_their_bodies_along(queue: Queue) -> None:
    ids = [queue.add() for _ in range(20)]
    delete(queue.database.connect(), *ids)
    assert queue.bodies() == 0


def test_two_deletes_at_once_leave_a_body_that_the_sweep_takes(queue: Queue) -> None:
    first, second = siblings(queue, 2)
    one, other = queue.database.connect(), queue.database.connect()
    sync.run(one, Statement("BEGIN"))
    delete(one, first)
    delete(other, second)
    sync.run(one, Statement("COMMIT"))
    assert (queue.ids(), queue.bodies()) == ([], 1)
    assert queue.database.value("SELECT pepsi.workqueue_body_gc()") == 1
    assert queue.bodies() == 0


def test_a_sweep_takes_no_more_than_it_is_told_and_nothing_in_use(queue: Queue) -> None:
    kept = queue.add()
    queue.database.rows(
        "INSERT INTO pepsi.workqueue_body (header_block, body) SELECT '', '' FROM generate_series(1, 5)"
    )
    assert queue.database.value("SELECT pepsi.workqueue_body_gc(3)") == 3
    assert queue.database.value("SELECT pepsi.workqueue_body_gc(3)") == 2
    assert queue.database.value("SELECT pepsi.workqueue_body_gc(3)") == 0
    assert queue.message(kept)


def test_a_row_deleted_while_it_is_cloned_keeps_the_body_for_its_clones(queue: Queue) -> None:
    number = queue.running()
    worker, operator = queue.database.connect(), queue.database.connect()
    sync.run(worker, Statement("BEGIN"))
    finish = Statement(
        'SELECT pepsi.workqueue_pause(%(id)s, %(claim)s, 60, clones => \'[{"stage": "b"}]\')',
        {"id": number, "claim": TOKEN},
    )
    assert sync.run(worker, finish) == [(True,)]
    deleting = threading.Thread(target=delete, args=(operator, number))
    deleting.start()
    while not queue.database.value(WAITERS):
        deleting.join(0.01)
    sync.run(worker, Statement("COMMIT"))
    deleting.join()
    (clone,) = queue.ids()
    assert clone != number
    assert queue.message(clone)


def test_a_row_that_gets_a_new_body_leaves_the_old_one_to_its_siblings(queue: Queue) -> None:
    first, second = siblings(queue, 2)
    queue.claim(first)
    assert queue.database.value(
        "SELECT pepsi.workqueue_advance(%(id)s, %(claim)s, 'b', body => 'new')", id=first, claim=TOKEN
    )
    assert queue.message(first).endswith(b"\r\n\r\nnew")
    assert queue.message(second).endswith(b"\r\n\r\nbody")
    assert queue.bodies() == 2


def test_many_siblings_deleted_by_many_sessions_leave_no_row_without_a_body(queue: Queue) -> None:
    ids = siblings(queue, 40)

    def work(connection: Connection, mine: list[int]) -> None:
        for number in mine:
            delete(connection, number)

    workers = [threading.Thread(target=work, args=(queue.database.connect(), ids[place::4])) for place in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    queue.database.value("SELECT pepsi.workqueue_body_gc()")
    assert (queue.ids(), queue.bodies()) == ([], 0)
