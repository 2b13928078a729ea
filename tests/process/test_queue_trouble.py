"""What pepsi-queue does when something is wrong: with the database, its reader, its caller."""

import os
import pwd
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pepsi.db.account import choose
from pepsi.db.embedded import private_server
from tests.db.queue import Queue
from tests.support_database import Database, install
from tests.support_program import until
from tests.support_queue_tool import PATIENCE, Held, Tool, fill, wait_until_blocked


@pytest.mark.parametrize("words", [(), ("delete", "1"), ("clear-all",), ("gc",)])
def test_a_database_that_is_not_there_is_said_in_one_sentence(tool: Tool, words: tuple[str, ...]) -> None:
    tool.configure("host=/nonexistent password=hunter2 dbname=a")
    done = tool(*words)
    assert (done.status, done.raw, done.said.count("\n")) == (69, b"", 1)
    assert f"check [pepsi-postgres] DSN in {tool.file}" in done.said
    assert "hunter2" not in done.said


def test_a_server_that_does_not_answer_is_not_waited_for_without_end(tool: Tool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        tool.configure(f"host=127.0.0.1 port={door.getsockname()[1]} dbname=a", "CONNECT_TIMEOUT = 1 s")
        done = tool()
    assert done.status == 69
    assert "no connection within 1 s" in done.said


def test_a_database_without_a_schema_is_told_how_to_get_one(tool: Tool, queue: Queue) -> None:
    queue.database.rows("DROP SCHEMA pepsi CASCADE")
    done = tool()
    assert done.status == 1
    assert "'pepsi-setup schema'" in done.said


def test_a_connection_that_is_cut_in_the_middle_is_said(tool: Tool, queue: Queue) -> None:
    number = queue.running()
    with Held(queue.database, f"SELECT FROM pepsi.workqueue WHERE workqueue_id = {number} FOR UPDATE"):
        process = tool.begin("delete", str(number))
        wait_until_blocked(queue.database)
        queue.database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pepsi-queue' "
            "AND datname = current_database()"
        )
        out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, said.count(b"\n")) == (69, b"", 1)
    assert queue.ids() == [number]


@pytest.mark.parametrize("words", [("delete", "{}"), ("clear-all",)])
def test_an_interrupt_from_the_keyboard_ends_it_without_a_fuss(
    tool: Tool, queue: Queue, words: tuple[str, ...]
) -> None:
    number = queue.running()
    with Held(queue.database, "LOCK TABLE pepsi.workqueue IN ACCESS EXCLUSIVE MODE"):
        process = tool.begin(*(word.format(number) for word in words))
        wait_until_blocked(queue.database)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in said
    assert said.count(b"\n") == (1 if words == ("clear-all",) else 0)


def test_what_an_interrupt_left_over_is_done_by_the_next_run(tool: Tool, queue: Queue) -> None:
    fill(queue, 2500, "running")
    (last,) = queue.database.rows("SELECT max(workqueue_id) FROM pepsi.workqueue")
    # The first two thousand are released, then the tool waits for whoever has the table.
    queue.database.rows(
        "CREATE FUNCTION pepsi.stall() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END'"
    )
    queue.database.rows(
        f"CREATE TRIGGER stall BEFORE UPDATE ON pepsi.workqueue FOR EACH ROW WHEN (OLD.workqueue_id = {last[0]}) "
        "EXECUTE FUNCTION pepsi.stall()"
    )
    with Held(queue.database, "SELECT pg_advisory_xact_lock(4711)"):
        process = tool.begin("clear-all")
        wait_until_blocked(queue.database)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert b"released 2000 running messages" in said
    until(lambda: "running" in tool("clear-all").out)
    assert queue.database.value("SELECT count(*) FROM pepsi.workqueue WHERE status = 'running'") == 0


def test_a_tool_that_shows_much_stops_when_it_is_read_slowly_and_interrupted_twice(tool: Tool, queue: Queue) -> None:
    queue.add(state={"x": "y" * 3_000_000})
    process = tool.begin("--state-only")
    assert process.stdout is not None
    assert process.stderr is not None
    select.select([process.stdout], [], [], PATIENCE)
    process.send_signal(signal.SIGINT)
    # Until it was taken: two of a kind that come at once are one signal.
    mask = f"/proc/{process.pid}/status"
    until(lambda: int(pending_signals(mask), 16) == 0)
    process.send_signal(signal.SIGINT)
    status = process.wait(PATIENCE)
    assert (status, process.stderr.read()) == (130, b"")
    process.stdout.close()
    process.stderr.close()


def pending_signals(path: str) -> str:
    return next(line.split()[1] for line in Path(path).read_text().splitlines() if line.startswith("ShdPnd"))


def test_root_goes_on_as_the_account_before_it_connects(tool: Tool, queue: Queue, server: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    number = queue.add(mail_from="grüße@example.org")
    # The tests' own server lets in the account that it runs as, and it trusts what the kernel says of that.
    program = (
        "import os, sys\nfrom pepsi.tools.queue.program import main\n"
        f"status = main(['-c', {str(tool.file)!r}, *sys.argv[1:]], account={choose().name!r})\n"
        "print(os.getresuid(), file=sys.stderr)\nsys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(number)], capture_output=True, text=True)
    uid = pwd.getpwnam(choose().name).pw_uid
    assert (done.returncode, done.stderr) == (0, f"({uid}, {uid}, {uid})\n")
    assert "grüße@example.org" in done.stdout


def test_with_a_private_server_root_goes_on_as_the_account_of_that(tool: Tool, state_directory: Path) -> None:
    with private_server(state_directory, fast=True) as dsn:
        install(Database(dsn))
        tool.file.write_text(f"[pepsi]\nSTATE_DIRECTORY = {state_directory}\n[pepsi-postgres]\nDSN = embedded\n")
        program = (
            "import os, sys\nfrom pepsi.tools.queue.program import main\n"
            f"status = main(['-c', {str(tool.file)!r}, 'gc'], account='no-such-account')\n"
            "print(os.geteuid(), file=sys.stderr)\nsys.exit(status)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, f"{choose().uid}\n")
    done_without = tool("gc")
    assert (done_without.status, done_without.said.count("\n")) == (69, 1)
    assert "'pepsi up'" in done_without.said
