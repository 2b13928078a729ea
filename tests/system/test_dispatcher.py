"""The dispatcher as a process, with real workers and a real database."""

import os
import signal
from pathlib import Path

import pytest

from tests.support_program import until
from tests.system.conftest import Theatre


def test_mail_goes_through_two_stages_and_nothing_is_left_running(theatre: Theatre) -> None:
    theatre.write_config(first="NEXT_STAGE = second", second="")
    dispatcher = theatre.dispatcher()
    ids = theatre.inject(stage="first", count=100)
    theatre.wait_until_empty()
    assert theatre.executions() == dict.fromkeys(ids, 2)
    assert dispatcher.stop() == 0
    assert not theatre.workers()


def test_statistics_are_written_when_the_pipeline_is_idle(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    theatre.inject(count=10)
    theatre.inject("answer 5 no such thing", count=2)
    until(lambda: theatre.database.rows("SELECT messages, failures FROM pepsi.stage_stats") == [(12, 2)])
    assert theatre.database.rows("SELECT stages_executed, messages_failed FROM pepsi.dispatch_stats") == [(12, 2)]
    dispatcher.stop()


def test_a_message_whose_worker_crashes_takes_a_strike_and_its_companions_do_not(theatre: Theatre) -> None:
    theatre.write_config(puppet="PARALLELISM = 1")
    theatre.dispatcher()
    companions = theatre.inject(count=5)
    (poison,) = theatre.inject("crash")
    companions += theatre.inject(count=5)
    until(lambda: all(theatre.row(number) is None for number in companions))
    for strikes, status in ((1, "paused"), (2, "paused"), (3, "failed")):
        until(lambda status=status: theatre.status(poison) == status)  # type: ignore[misc]
        row = theatre.row(poison)
        assert row is not None
        assert row[2]["strikes"] == strikes
        assert "signal 9" in str(row[2]["last_error"])
        theatre.release()
    assert row[2]["failed_stage"] == "puppet"
    assert row[2]["failure_class"] == "crashed"
    assert theatre.executions()[poison] == 3


def test_a_message_that_hangs_is_killed_and_ends_as_timeout(theatre: Theatre) -> None:
    theatre.write_config(puppet="MAX_RUNTIME = 1 s")
    theatre.dispatcher()
    (slow,) = theatre.inject("hang")
    for _ in range(2):
        until(lambda: theatre.status(slow) == "paused")
        theatre.release()
    until(lambda: theatre.status(slow) == "timeout")
    row = theatre.row(slow)
    assert row is not None
    assert row[2]["failure_class"] == "timed-out"
    until(lambda: not theatre.workers())


@pytest.mark.parametrize("subject", ["garble", "exit 0", "exit 3", "exit 78"])
def test_any_unasked_end_in_the_middle_of_a_message_is_a_crash(theatre: Theatre, subject: str) -> None:
    theatre.dispatcher()
    theatre.inject()
    theatre.wait_until_empty()
    (number,) = theatre.inject(subject)
    until(lambda: theatre.status(number) == "paused")
    row = theatre.row(number)
    assert row is not None
    assert row[2]["strikes"] == 1


def test_exit_78_before_any_answer_blames_no_message(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    (number,) = theatre.inject("exit 78")
    dispatcher.wait_for("did not get ready .*exit status 78")
    until(lambda: theatre.status(number) == "pending")
    row = theatre.row(number)
    assert row is not None
    assert "strikes" not in row[2]


def test_an_answer_too_many_costs_the_worker_but_no_message(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    (number,) = theatre.inject("twice")
    dispatcher.wait_for("answered for an id that it does not hold")
    until(lambda: theatre.row(number) is None or theatre.status(number) == "pending")
    others = theatre.inject(count=3)
    until(lambda: all(theatre.row(other) is None for other in others))


def test_a_foreign_status_fails_the_message_with_its_reason(theatre: Theatre) -> None:
    theatre.dispatcher()
    (number,) = theatre.inject("answer 65 the \x07 body is \\u0000 odd")
    until(lambda: theatre.status(number) == "failed")
    row = theatre.row(number)
    assert row is not None
    assert row[2]["last_error"] == "the body is \\u0000 odd"
    assert row[2]["failure_class"] == "permanent"


def test_status_74_pauses_without_blame(theatre: Theatre) -> None:
    theatre.dispatcher()
    (number,) = theatre.inject("answer 74")
    until(lambda: theatre.status(number) == "paused")
    row = theatre.row(number)
    assert row is not None
    assert "strikes" not in row[2]
    wait = theatre.database.value("SELECT extract(epoch FROM timeout - now())::float8 FROM pepsi.workqueue")
    assert 25 < wait <= 36


def test_a_worker_that_answers_0_and_commits_nothing_cannot_go_round_for_ever(theatre: Theatre) -> None:
    theatre.write_config(dispatch="POLL_INTERVAL = 200 ms")
    theatre.dispatcher()
    (number,) = theatre.inject("claim-done")
    for _ in range(2):
        until(lambda: theatre.status(number) == "paused")
        theatre.release()
    until(lambda: theatre.status(number) == "failed")


def test_a_program_that_does_not_exist_is_named_and_mail_at_other_stages_moves(theatre: Theatre) -> None:
    theatre.write_config(puppet="NEXT_STAGE = absent", absent="PROGRAM = no-such-program")
    dispatcher = theatre.dispatcher()
    (stuck,) = theatre.inject(stage="absent")
    dispatcher.wait_for("no-such-program, is not found on PATH")
    theatre.inject(count=5)
    until(lambda: theatre.left() == 1)
    until(lambda: theatre.status(stuck) == "pending")


def test_idle_workers_are_stopped(theatre: Theatre) -> None:
    theatre.write_config(dispatch="WORKER_IDLE_TIMEOUT = 200 ms")
    theatre.dispatcher()
    theatre.inject(count=20)
    theatre.wait_until_empty()
    until(lambda: not theatre.workers())


def test_sigterm_gives_back_what_is_in_flight_and_a_second_one_does_not_wait(theatre: Theatre) -> None:
    theatre.write_config(puppet="PARALLELISM = 1")
    dispatcher = theatre.dispatcher()
    ids = theatre.inject("slow 0.3", count=10)
    until(lambda: len(theatre.events()) >= 1)
    assert dispatcher.stop() == 0
    assert theatre.database.value("SELECT count(*) FROM pepsi.workqueue WHERE status = 'running'") == 0
    assert theatre.left() >= 5
    assert not theatre.workers()
    theatre.inject("hang")
    theatre.dispatcher()
    until(lambda: {number for _, number, _ in theatre.events()} > set(ids))
    second = theatre.programs[-1]
    second.kill(signal.SIGTERM)
    second.wait_for("once more to end at once")
    second.kill(signal.SIGTERM)
    assert second.wait(10) == 1
    until(lambda: not theatre.workers())


def test_a_killed_dispatcher_leaves_no_workers_and_the_next_one_takes_its_mail_up(theatre: Theatre) -> None:
    theatre.write_config(puppet="PARALLELISM = 2")
    first = theatre.dispatcher()
    theatre.inject("slow 0.05", count=60)
    until(lambda: len(theatre.events()) >= 10)
    first.kill(signal.SIGKILL)
    first.wait()
    second = theatre.dispatcher()
    theatre.wait_until_empty()
    second.stop()
    assert sum(theatre.executions().values()) <= 60 + 8


def test_a_second_dispatcher_exits_1_and_names_the_first(theatre: Theatre) -> None:
    theatre.dispatcher()
    backend = theatre.database.value(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'pepsi-dispatch: lock and claims'"
    )
    second = theatre.dispatcher(wait=False)
    assert second.wait(15) == 1
    second.wait_for(f"another dispatcher works on this database.*pepsi-dispatch.*process {backend}")


def test_a_standby_takes_over_when_the_first_one_goes(theatre: Theatre) -> None:
    first = theatre.dispatcher()
    theatre.write_config(dispatch="STANDBY = yes")
    second = theatre.dispatcher(wait=False)
    second.wait_for("waiting for the dispatcher's lock")
    first.kill(signal.SIGKILL)
    second.wait_for("dispatching under epoch")
    theatre.inject()
    theatre.wait_until_empty()


def test_a_database_of_another_release_is_refused_with_78_and_a_sentence(theatre: Theatre) -> None:
    theatre.database.rows(
        "INSERT INTO pepsi.schema_release (release, file, digest) VALUES (999, '0999_later.sql', 'x')"
    )
    refused = theatre.dispatcher(wait=False)
    assert refused.wait() == 78
    refused.wait_for("release 999 of the schema, newer than this Pepsi's")


def test_a_start_that_the_database_refuses_ends_with_1(theatre: Theatre) -> None:
    theatre.database.rows("ALTER TABLE pepsi.dispatcher_epoch RENAME TO elsewhere")
    refused = theatre.dispatcher(wait=False)
    assert refused.wait() == 1


def test_losing_every_session_is_survived(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    theatre.inject("slow 0.05", count=40)
    until(lambda: len(theatre.events()) >= 10)
    theatre.database.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'pepsi-dispatch%%' "
        "AND datname = current_database()",
    )
    theatre.wait_until_empty()
    assert max(theatre.executions().values()) == 1
    assert dispatcher.stop() == 0


def test_a_fenced_dispatcher_exits_1_and_touches_no_row(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    theatre.inject("hang", count=2)
    until(lambda: len(theatre.events()) >= 1)
    theatre.database.rows("UPDATE pepsi.dispatcher_epoch SET epoch = epoch + 1")
    theatre.database.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'pepsi-dispatch: lock and claims' AND datname = current_database()"
    )
    assert dispatcher.wait() == 1
    assert theatre.database.value("SELECT count(*) FROM pepsi.workqueue WHERE status = 'running'") == 2
    until(lambda: not theatre.workers())


def test_a_row_locked_by_a_forgotten_transaction_stops_no_other_mail(theatre: Theatre) -> None:
    (locked,) = theatre.inject()
    holder = theatre.database.connect()
    with holder.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT FROM pepsi.workqueue WHERE workqueue_id = %s FOR UPDATE", (locked,))
        theatre.dispatcher()
        others = theatre.inject(count=5)
        until(lambda: all(theatre.row(other) is None for other in others))
        cursor.execute("ROLLBACK")


def test_a_flood_on_standard_error_holds_nobody_up(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    theatre.inject("shout 50000000")
    theatre.inject(count=20)
    theatre.wait_until_empty()
    status = Path(f"/proc/{dispatcher.pid}/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert peak < 200_000, "kB"


def test_a_worker_inherits_nothing_but_its_three_pipes(theatre: Theatre) -> None:
    theatre.dispatcher()
    theatre.inject("slow 3")
    until(lambda: len(theatre.workers()) == 1 and len(theatre.events()) == 1)
    (worker,) = theatre.workers()
    links = {int(entry.name): str(entry.readlink()) for entry in Path(f"/proc/{worker}/fd").iterdir()}
    assert all(links[number].startswith("pipe:") for number in (0, 1, 2))
    assert not [link for number, link in links.items() if number > 2 and not link.startswith(("socket:", "/"))]
    assert os.getpgid(worker) == worker


def test_twistd_runs_the_same_service_and_ends_with_0(theatre: Theatre) -> None:
    twistd = theatre.twistd("--config", str(theatre.config))
    theatre.inject(count=5)
    theatre.wait_until_empty()
    assert twistd.stop() == 0


def test_what_a_worker_has_started_dies_with_it_whatever_it_died_of(theatre: Theatre) -> None:
    theatre.dispatcher()
    theatre.inject("leave 600")
    until(lambda: len(theatre.events()) >= 1)
    until(lambda: not theatre.workers())
    (child,) = [number for event, number, _ in theatre.events() if event == "child"]
    until(lambda: not Path(f"/proc/{child}").exists() or "zombie" in Path(f"/proc/{child}/status").read_text())


def test_a_row_locked_while_its_message_is_settled_holds_up_no_other(theatre: Theatre) -> None:
    theatre.write_config(puppet="PARALLELISM = 1")
    theatre.dispatcher()
    theatre.inject()
    theatre.wait_until_empty()
    holder = theatre.database.connect()
    first, *others = theatre.inject("answer 65 no", count=4)
    with holder.cursor() as cursor:
        until(lambda: theatre.status(first) != "pending")
        cursor.execute("BEGIN")
        cursor.execute("SELECT FROM pepsi.workqueue WHERE workqueue_id = %s FOR UPDATE", (first,))
        until(lambda: all(theatre.status(other) == "failed" for other in others))
        cursor.execute("ROLLBACK")
    until(lambda: theatre.status(first) == "failed")


def test_batches_that_crash_strike_only_the_message_that_crashes_alone(theatre: Theatre) -> None:
    theatre.write_config(puppet="PARALLELISM = 1")
    dispatcher = theatre.dispatcher(environ={"PUPPET_READY": "ready batch"})
    others = theatre.inject(count=2)
    (poison,) = theatre.inject("crash")
    others += theatre.inject(count=2)
    until(lambda: theatre.status(poison) == "paused")
    until(lambda: all(theatre.row(other) is None for other in others))
    row = theatre.row(poison)
    assert row is not None
    assert row[2]["strikes"] == 1
    assert dispatcher.stop() == 0
