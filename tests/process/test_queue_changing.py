"""What pepsi-queue changes, as a process on a real database."""

import json

import pytest

from pepsi.db.session import DISPATCHER_LOCK
from tests.db.queue import Queue
from tests.support_program import until
from tests.support_queue_tool import PATIENCE, Held, Tool, fill, lock, wait_until_blocked


def test_a_message_is_deleted_with_its_body(tool: Tool, queue: Queue) -> None:
    kept, gone = queue.add(), queue.add()
    done = tool("delete", str(gone))
    assert (done.status, done.out, done.said) == (0, f"deleted message {gone}, which was pending at stage a\n", "")
    assert (queue.ids(), queue.bodies()) == ([kept], 1)
    again = tool("delete", str(gone))
    assert (again.status, again.out) == (1, "")
    assert f"there is no message {gone}" in again.said


def test_a_message_goes_on_at_another_stage_with_its_state(tool: Tool, queue: Queue) -> None:
    state = {"strikes": 2, "last_error": "x", "other": [1]}
    number = queue.running(state=state)
    done = tool("set-stage", str(number), "relay")
    assert done.out == f"message {number} is pending at stage relay; it was running at stage a\n"
    row = queue.row(number)
    assert (row["stage"], row["status"], row["claim"], row["timeout"], row["state"]) == (
        "relay",
        "pending",
        None,
        None,
        state,
    )
    assert tool("set-stage", str(number + 1), "relay").status == 1


@pytest.mark.parametrize("status", ["paused", "failed", "timeout"])
def test_whatever_the_status_of_a_message_it_can_go_on(tool: Tool, queue: Queue, status: str) -> None:
    number = queue.add()
    queue.database.rows("UPDATE pepsi.workqueue SET status = %(status)s", status=status)
    queue.database.rows("UPDATE pepsi.workqueue SET timeout = now() + interval '1 h' WHERE status = 'paused'")
    assert tool("set-stage", str(number), "a", "--quiet").raw == b""
    assert (queue.row(number)["status"], queue.row(number)["timeout"]) == ("pending", None)


def test_a_stage_without_a_section_is_refused_unless_forced(tool: Tool, queue: Queue) -> None:
    number = queue.add()
    done = tool("set-stage", str(number), "rely")
    assert (done.status, queue.row(number)["stage"]) == (1, "a")
    assert "there is no section [stage-rely]" in done.said
    assert "did you mean relay?" in done.said
    assert tool("set-stage", str(number), "rely", "--force").status == 0
    assert queue.row(number)["stage"] == "rely"


def test_a_section_that_is_in_the_database_alone_will_do(tool: Tool, queue: Queue) -> None:
    number = queue.add()
    queue.database.rows("INSERT INTO pepsi.config_override VALUES ('stage-bounce', 'PROGRAM', 'x')")
    done = tool("set-stage", str(number), "bounce")
    assert (done.status, done.said) == (0, "")


def test_sections_that_cannot_be_read_are_a_warning(tool: Tool, queue: Queue) -> None:
    number = queue.add()
    tool.file.write_text(tool.file.read_text() + "[stage-\n")
    done = tool("set-stage", str(number), "other")
    assert (done.status, queue.row(number)["stage"]) == (0, "other")
    assert "not all sections could be read" in done.said


def test_what_was_done_is_said_as_json_if_that_is_wanted(tool: Tool, queue: Queue) -> None:
    first, second = queue.add(), queue.running()
    assert json.loads(tool("set-stage", str(first), "relay", "--json").raw) == {
        "workqueue_id": first,
        "stage": "relay",
        "status": "pending",
        "former_stage": "a",
        "former_status": "pending",
    }
    found = json.loads(tool("clear-all", "--json").raw)
    assert found == {"running": 1, "paused": 0, "parked": 0, "locked": 0}
    found = json.loads(tool("delete", str(second), "--json").raw)
    assert found == {"workqueue_id": second, "stage": "a", "status": "pending"}
    assert json.loads(tool("gc", "--json").raw) == {"origin_nonce": 0, "dns_address": 0}


@pytest.mark.parametrize(
    "words", [("delete", "{}"), ("set-stage", "{}", "a"), ("clear-all",), ("clear-all", "--paused"), ("list",)]
)
def test_a_dispatcher_hears_of_every_change_and_of_nothing_else(
    tool: Tool, queue: Queue, words: tuple[str, ...]
) -> None:
    number = queue.running()
    queue.add()
    queue.database.rows("UPDATE pepsi.workqueue SET status = 'paused' WHERE workqueue_id <> %(number)s", number=number)
    ears = queue.database.connect()
    with ears.cursor() as cursor:
        cursor.execute("LISTEN workqueue; LISTEN workqueue_repair")
    assert tool(*(word.format(number) for word in words)).status == 0
    with ears.cursor() as cursor:
        cursor.execute("SELECT 1")
    ears.poll()
    heard = {notify.channel for notify in ears.notifies}
    assert heard == (set() if words == ("list",) else {"workqueue", "workqueue_repair"})


def test_everything_that_ran_or_waited_is_pending_and_what_failed_is_not(tool: Tool, queue: Queue) -> None:
    running = [queue.running() for _ in range(3)]
    paused, parked, failed, timeout = (queue.add() for _ in range(4))
    for number, status, due in (
        (paused, "paused", "now() + interval '1 h'"),
        (parked, "paused", "NULL"),
        (failed, "failed", "NULL"),
        (timeout, "timeout", "NULL"),
    ):
        queue.database.rows(
            f"UPDATE pepsi.workqueue SET status = '{status}', timeout = {due} WHERE workqueue_id = {number}"  # noqa: S608
        )
    done = tool("clear-all")
    assert (done.status, done.out) == (0, "released 3 running and 2 paused messages, 1 of them parked\n")
    statuses = {number: queue.row(number)["status"] for number in queue.ids()}
    assert statuses == {
        **dict.fromkeys([*running, paused, parked], "pending"),
        failed: "failed",
        timeout: "timeout",
    }


@pytest.mark.parametrize("status", ["running", "paused"])
def test_many_messages_are_released_in_many_transactions(tool: Tool, queue: Queue, status: str) -> None:
    fill(queue, 3500, status)
    assert f"3500 {status}" in tool("clear-all").out
    counts = queue.database.rows("SELECT count(*) FROM pepsi.workqueue WHERE stage = 'a' GROUP BY xmin::text")
    assert sorted(count for (count,) in counts) == [500, 1000, 1000, 1000]


def test_nothing_is_cleared_under_a_dispatcher_unless_forced(tool: Tool, queue: Queue) -> None:
    running, paused = queue.running(), queue.add()
    queue.database.rows("UPDATE pepsi.workqueue SET status = 'paused' WHERE status = 'pending'")
    dispatcher = queue.database.connect("pepsi-dispatch")
    with dispatcher.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", DISPATCHER_LOCK)
    done = tool("clear-all")
    assert (done.status, done.out, queue.row(paused)["status"]) == (1, "", "paused")
    assert f"held by pepsi-dispatch, server process {dispatcher.info.backend_pid}" in done.said
    assert tool("clear-all", "--paused").out == "released 1 paused message, 1 of them parked\n"
    assert (queue.row(running)["status"], queue.row(paused)["status"]) == ("running", "pending")
    assert tool("clear-all", "--force").status == 0
    assert queue.row(running)["status"] == "pending"


def test_no_dispatcher_begins_while_all_is_cleared(tool: Tool, queue: Queue) -> None:
    number = queue.running()
    with Held(queue.database, "LOCK TABLE pepsi.workqueue IN ACCESS EXCLUSIVE MODE"):
        process = tool.begin("clear-all")
        wait_until_blocked(queue.database)
        assert queue.database.value("SELECT pg_try_advisory_lock(%(a)s, %(b)s)", **lock()) is False
        second = tool("clear-all")
        assert second.status == 1
        assert "held by pepsi-queue" in second.said
    out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (0, b"")
    assert b"1 running" in out
    assert queue.row(number)["status"] == "pending"
    until(lambda: queue.database.value("SELECT pg_try_advisory_lock(%(a)s, %(b)s)", **lock()) is True)


def test_what_somebody_else_has_locked_keeps_nobody_waiting(tool: Tool, queue: Queue) -> None:
    locked, free = queue.running(), queue.running()
    with Held(queue.database, f"SELECT FROM pepsi.workqueue WHERE workqueue_id = {locked} FOR UPDATE"):
        done = tool("clear-all")
    assert (done.status, done.out) == (0, "released 1 running and 0 paused messages\n")
    assert "1 message left alone" in done.said
    assert (queue.row(locked)["status"], queue.row(free)["status"]) == ("running", "pending")
    assert "released 1 running" in tool("clear-all").out


def test_only_what_has_expired_is_swept(tool: Tool, queue: Queue) -> None:
    times = ["now() + interval '1 h'", "now() - interval '1 s'", "'-infinity'", "'infinity'"]
    for number, when in enumerate(times):
        queue.database.rows(f"INSERT INTO pepsi.origin_nonce VALUES ('{number}', {when})")  # noqa: S608
        queue.database.rows(f"INSERT INTO pepsi.dns_address VALUES ('{number}', '::1', {when})")  # noqa: S608
    queue.database.rows("INSERT INTO pepsi.dns_address VALUES ('1', '::2', now() - interval '2 s')")
    done = tool("gc")
    assert (done.status, done.out) == (0, "deleted 2 expired nonces and 3 host addresses past their time\n")
    for table, column in (("origin_nonce", "nonce"), ("dns_address", "host")):
        left = queue.database.rows(f"SELECT {column} FROM pepsi.{table} ORDER BY 1")  # noqa: S608
        assert left == [("0",), ("3",)]
    assert tool("gc", "--quiet").raw == b""


def test_any_number_of_expired_rows_is_swept_in_one_go(tool: Tool, queue: Queue) -> None:
    queue.database.rows(
        "INSERT INTO pepsi.origin_nonce SELECT g::text, now() - make_interval(secs => g %% 7) "
        "FROM generate_series(1, %(count)s) g",
        count=12_000,
    )
    assert "deleted 12000 expired nonces" in tool("gc").out
    assert queue.database.value("SELECT count(*) FROM pepsi.origin_nonce") == 0
