"""The dispatcher's counts in the database: added once each, with how many messages came and went."""

from pepsi.db import statistics
from pepsi.sched.statistics import Deltas, StageCounts
from tests.db.queue import Queue
from tests.support_program import until

DELTAS = Deltas({"a": StageCounts(messages=2, failures=1, microseconds=1500), "b": StageCounts(strikes=1)}, 2, 1)


def counted(queue: Queue, *columns: str) -> tuple[int, ...]:
    row = queue.database.value("SELECT to_jsonb(s) FROM pepsi.dispatch_stats s")
    return tuple(row[column] for column in columns)


def flush(queue: Queue, number: int, epoch: int = 7) -> None:
    queue.database.run(statistics.flush(epoch, number, DELTAS))


def test_a_flush_adds_and_a_repeated_one_does_not(queue: Queue) -> None:
    for number in (1, 1, 2, 1):
        flush(queue, number)
    assert counted(queue, "stages_executed", "messages_failed") == (4, 2)
    stages = "SELECT stage, messages, failures, strikes, microseconds FROM pepsi.stage_stats ORDER BY stage"
    assert queue.database.rows(stages) == [("a", 4, 2, 0, 3000), ("b", 0, 0, 2, 0)]
    flush(queue, 1, epoch=8)
    assert counted(queue, "stages_executed", "flush_epoch", "flush_number") == (6, 8, 1)


def test_the_servers_counters_tell_how_many_messages_came_and_went(queue: Queue) -> None:
    number = 0

    def shows(*expected: int) -> bool:
        # The server's counters lag: a session reports once a second at most.
        nonlocal number
        number += 1
        flush(queue, number)
        return counted(queue, "messages_in", "messages_finished") == expected

    first, second = queue.add(), queue.add()
    until(lambda: shows(2, 0))
    queue.database.rows("DELETE FROM pepsi.workqueue WHERE workqueue_id = %(number)s", number=first)
    until(lambda: shows(2, 1))
    assert shows(2, 1)
    queue.database.rows("SELECT pg_stat_reset_single_table_counters('pepsi.workqueue'::regclass)")
    queue.database.rows("DELETE FROM pepsi.workqueue WHERE workqueue_id = %(number)s", number=second)
    until(lambda: shows(2, 2))


def test_a_flush_without_counts_of_stages_is_none(queue: Queue) -> None:
    queue.database.run(statistics.flush(7, 1, Deltas({}, 1, 0)))
    assert queue.database.value("SELECT count(*) FROM pepsi.stage_stats") == 0
    assert counted(queue, "stages_executed") == (1,)


def test_a_sweep_deletes_what_no_row_refers_to_and_says_how_much(queue: Queue) -> None:
    kept = queue.add()
    text = "INSERT INTO pepsi.workqueue_body (header_block, body) SELECT 'h', 'b' FROM generate_series(1, 5)"
    queue.database.rows(text)
    assert queue.database.run(statistics.sweep(3)) == [(3,)]
    assert queue.database.run(statistics.sweep(3)) == [(2,)]
    assert queue.database.run(statistics.sweep(3)) == [(0,)]
    assert queue.message(kept)
