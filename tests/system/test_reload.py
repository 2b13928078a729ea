"""The configuration of a running dispatcher is changed, in its file and in the database."""

import signal
import sys

import pytest

from tests.support_database import Database
from tests.support_program import until
from tests.system.conftest import PUPPET, Theatre


def override(theatre: Theatre, section: str, key: str, value: str | None) -> None:
    """Set or unset a key in the database, as one transaction with its notification."""
    with theatre.database.connect().cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("DELETE FROM pepsi.config_override WHERE section = %s AND key = %s", (section, key))
        if value is not None:
            row = section, key, value
            cursor.execute("INSERT INTO pepsi.config_override (section, key, value) VALUES (%s, %s, %s)", row)
        cursor.execute("NOTIFY config_changed")
        cursor.execute("COMMIT")


def test_a_stage_is_added_edited_and_removed_while_mail_flows(theatre: Theatre) -> None:
    theatre.write_config(first="NEXT_STAGE = second\nPARALLELISM = 2", second="PARALLELISM = 2")
    dispatcher = theatre.dispatcher()
    ids = theatre.inject("slow 0.02", stage="first", count=150)
    until(lambda: len(theatre.events()) >= 20)
    strangers = theatre.inject(stage="third", count=5)
    override(theatre, "stage-third", "PROGRAM", f"{sys.executable} {PUPPET} {theatre.record}")
    dispatcher.wait_for(r"\[stage-third\] is new")
    until(lambda: all(theatre.row(number) is None for number in strangers))
    override(theatre, "stage-second", "PARALLELISM", "1")
    dispatcher.wait_for(r"\[stage-second\] PARALLELISM: 2 -> 1")
    override(theatre, "stage-third", "PROGRAM", None)
    dispatcher.wait_for(r"\[stage-third\] is gone")
    left = theatre.inject(stage="third", count=2)
    until(lambda: theatre.left() == len(left))
    assert {number: theatre.executions()[number] for number in ids} == dict.fromkeys(ids, 2)
    assert [theatre.status(number) for number in left] == ["pending"] * 2
    override(theatre, "stage-second", "PARALLELISM", None)
    dispatcher.wait_for(r"2 messages wait at 'third'")
    assert dispatcher.stop() == 0
    assert not theatre.workers()


def test_the_worker_after_a_reload_is_another_one_and_the_message_in_hand_is_finished_first(theatre: Theatre) -> None:
    theatre.write_config(puppet="PARALLELISM = 1")
    dispatcher = theatre.dispatcher()
    (slow,) = theatre.inject("slow 3")
    until(lambda: len(theatre.events()) == 1)
    dispatcher.kill(signal.SIGHUP)
    dispatcher.wait_for("nothing has changed; every worker is replaced")
    (quick,) = theatre.inject()
    until(lambda: len(theatre.events()) == 4)
    (begun, *rest) = theatre.events()
    assert begun[:2] == ("begin", slow)
    assert [event[:2] for event in rest] == [("begin", quick), ("end", quick), ("end", slow)]
    assert begun[2] != rest[0][2]
    until(lambda: not theatre.workers())


def test_what_was_changed_in_the_file_holds_from_sighup_on(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    theatre.write_config(dispatch="POLL_INTERVAL = 90 s", puppet="PARALLELISM = 9", other="")
    (number,) = theatre.inject(stage="other")
    dispatcher.kill(signal.SIGHUP)
    dispatcher.wait_for(r"\[stage-puppet\] PARALLELISM: \(not set\) -> 9")
    dispatcher.wait_for(r"\[pepsi-dispatch\] POLL_INTERVAL: 30 s -> 90 s; this waits for a restart")
    until(lambda: theatre.row(number) is None)


@pytest.mark.parametrize("key", ["NEXT_STAGE", "QUEUE_LIMIT"])
def test_a_configuration_that_is_wrong_stops_it_in_good_order_with_78(theatre: Theatre, key: str) -> None:
    dispatcher = theatre.dispatcher()
    theatre.inject("slow 0.2", count=50)
    until(lambda: len(theatre.events()) >= 2)
    override(theatre, "stage-puppet", key, "no_such_thing")
    assert dispatcher.wait() == 78
    dispatcher.wait_for(f"{key} = no_such_thing")
    assert theatre.database.value("SELECT count(*) FROM pepsi.workqueue WHERE status = 'running'") == 0
    assert not theatre.workers()
    assert max(theatre.executions().values()) == 1


def test_under_twistd_that_status_is_the_same(theatre: Theatre) -> None:
    program = theatre.twistd("--config", str(theatre.config))
    theatre.inject()
    theatre.wait_until_empty()
    override(theatre, "stage-puppet", "NEXT_STAGE", "no_such_thing")
    assert program.wait() == 78


@pytest.mark.parametrize("key", ["CREATE", "MAILBOXES"])
def test_keys_of_which_only_the_stage_knows_are_looked_at_as_at_the_start(theatre: Theatre, key: str) -> None:
    lines = f"PROGRAM = pepsi-stage-deliver-maildir\nDIRECTORY = {theatre.directory}\n"
    theatre.write_config(deliver=lines)
    dispatcher = theatre.dispatcher()
    theatre.write_config(deliver=f"{lines}{key} = perhaps\n")
    dispatcher.kill(signal.SIGHUP)
    assert dispatcher.wait() == 78
    dispatcher.wait_for(rf"critical .*\[stage-deliver\] {key} = perhaps: ")


def test_while_the_database_does_not_let_its_part_be_read_the_old_stages_stay(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    theatre.database.rows("ALTER TABLE pepsi.config_override RENAME TO elsewhere")
    theatre.database.rows("SELECT pg_notify('config_changed', '')")
    dispatcher.wait_for("cannot be read, the present one stays")
    theatre.inject(count=5)
    theatre.wait_until_empty()
    (number,) = theatre.inject(stage="other")
    theatre.database.rows("ALTER TABLE pepsi.elsewhere RENAME TO config_override")
    override(theatre, "stage-other", "PROGRAM", f"{sys.executable} {PUPPET} {theatre.record}")
    until(lambda: theatre.row(number) is None)
    assert dispatcher.stop() == 0


def test_a_storm_of_notifications_is_a_handful_of_reloads(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    connection = theatre.database.connect()
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute("NOTIFY config_changed")
    override(theatre, "stage-puppet", "PARALLELISM", "2")
    dispatcher.wait_for("PARALLELISM:")
    reloads = [line for line in dispatcher.said if "configuration read again" in line]
    assert len(reloads) < 15
    theatre.inject(count=20)
    theatre.wait_until_empty()


def test_what_was_changed_while_nobody_listened_is_seen_at_the_next_connection(theatre: Theatre) -> None:
    dispatcher = theatre.dispatcher()
    theatre.database.rows(
        "INSERT INTO pepsi.config_override (section, key, value) VALUES ('stage-puppet', 'PARALLELISM', '2')"
    )
    theatre.database.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'pepsi-dispatch: listening' AND datname = current_database()"
    )
    dispatcher.wait_for(r"\[stage-puppet\] PARALLELISM: \(not set\) -> 2")


def test_telemetry_replaces_the_workers_and_leaves_the_stages_alone(theatre: Theatre) -> None:
    theatre.write_config(dispatch="WORKER_IDLE_TIMEOUT = 1 h")
    dispatcher = theatre.dispatcher()
    theatre.inject()
    theatre.wait_until_empty()
    (former,) = theatre.workers()
    theatre.database.rows("SELECT pg_notify('telemetry_changed', '')")
    dispatcher.wait_for("every worker is replaced")
    until(lambda: not theatre.workers())
    theatre.inject()
    theatre.wait_until_empty()
    assert theatre.workers() != [former]
    assert not [line for line in dispatcher.said if "configuration read again" in line]


def test_an_idle_dispatcher_leaves_the_database_alone_between_heartbeats(theatre: Theatre) -> None:
    theatre.write_config(dispatch="POLL_INTERVAL = 2 s")
    theatre.dispatcher()
    theatre.inject()
    theatre.wait_until_empty()
    until(lambda: not theatre.workers())
    seen: dict[str, set[str]] = {}

    def beats() -> int:
        for name, at in statements(theatre.database):
            seen.setdefault(name, set()).add(at)
        return len(seen["pepsi-dispatch: lock and claims"])

    until(lambda: beats() >= 5)
    # A heartbeat claims, asks for due rows and for running ones, and writes what was counted.
    assert all(len(times) <= 3 * 5 for times in seen.values()), seen


def statements(database: Database) -> list[tuple[str, str]]:
    """When each session of the dispatcher began its last statement."""
    return [
        (row[0], row[1])
        for row in database.rows(
            "SELECT application_name, query_start::text FROM pg_stat_activity "
            "WHERE application_name LIKE 'pepsi-dispatch%%' AND datname = current_database()"
        )
    ]
