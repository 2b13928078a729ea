"""The data directory of the private server, and the server process that runs on it.

Whoever uses this must hold the lock that ``pepsi.db.embedded`` takes. Nothing here waits but ``prepare``, while the
data directory is made, and ``stop``.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pepsi.db import leash
from pepsi.db.account import Account, closed_to, give
from pepsi.db.binaries import Binaries, find
from pepsi.errors import DatabaseError

PORT = 5432
"""Only part of the socket's name: there is no TCP."""
SUPERUSER = "pepsi"
MAX_CONNECTIONS = 100

_LOG_LIMIT = 1 << 20
"""Bytes of a log that are kept at a start; a longer one is set aside."""
_STOP_TIMES = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
"""What is sent to end the server, and how many seconds it has: fast, then immediate, then at once."""


class Cluster:
    """One data directory under *home*, run by *account*. *fast* gives up durability, for tests."""

    def __init__(self, home: Path, account: Account, environ: Mapping[str, str], *, fast: bool) -> None:
        self._data = home / "data"
        self._log = home / "server.log"
        self._account = account
        self._environ = environ
        self._fast = fast
        self._binaries: Binaries | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Find the programs, make the data directory if there is none, and clear away what a crash left of a server.

        Raises DatabaseError: no programs, an account that cannot get at them, a server that is not ours.
        """
        made_by = self._made_by()
        self._binaries = find(self._environ, made_by)
        closed = closed_to(self._account, self._binaries.directory)
        if closed is not None:
            raise DatabaseError(
                f"account {self._account.name} may not enter {closed}, and so cannot run {self._binaries.postgres}: "
                "PostgreSQL does not run as root; install PostgreSQL where every account can read it"
            )
        if made_by is None:
            self._make(self._binaries)
        self._clear_stale_pid()
        with contextlib.suppress(FileNotFoundError):
            if self._log.stat().st_size > _LOG_LIMIT:
                self._log.replace(self._log.with_suffix(".log.1"))

    def spawn(self, sockets: Path, keep_open: int) -> None:
        """Start the server on the directory *sockets*. It and all its processes keep the descriptor *keep_open*.

        The server is told to end when the thread that calls this ends: call it from the main thread.
        """
        if self._binaries is None:
            self.prepare()
        assert self._binaries is not None
        quoted = str(sockets).replace('"', '""')
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{quoted}"',
            "unix_socket_permissions": "0700",
            "port": PORT,
            "max_connections": MAX_CONNECTIONS,
            "logging_collector": "off",
            "log_checkpoints": "off",
            "jit": "off",
            # A busy queue leaves thousands of dead rows behind in a minute, which is the default.
            "autovacuum_naptime": "10s",
        }
        if self._fast:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        command = [self._binaries.postgres, "-D", str(self._data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._leashed(signal.SIGINT, command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
                cwd="/",
                start_new_session=True,
                pass_fds=(keep_open,),
            )

    @property
    def account(self) -> Account:
        """As whom the server runs."""
        return self._account

    @property
    def alive(self) -> bool:
        """Whether the server that was spawned last still runs, ready or not."""
        return self._process is not None and self._process.poll() is None

    @property
    def ready(self) -> bool:
        """Whether the server takes connections. It does not while it recovers from a crash."""
        if self._process is None:
            return False
        lines = self._pid_file()
        return len(lines) >= 8 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"

    def last_words(self, lines: int = 1) -> str:
        """Return the end of the server's log, for a message."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, self._log.stat().st_size - 4096))
                text = log.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def request_stop(self) -> None:
        """Ask for a fast shutdown: clients are cut off, everything committed is kept."""
        if self._process is not None and self.alive:
            self._process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """End the server, waiting at most 40 seconds. Does nothing when it does not run."""
        for number, seconds in _STOP_TIMES:
            if self._process is None or not self.alive:
                break
            self._process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        self._process = None

    def _made_by(self) -> int | None:
        try:
            return int((self._data / "PG_VERSION").read_text("ascii"))
        except FileNotFoundError:
            return None

    def _make(self, binaries: Binaries) -> None:
        # Under another name until it is whole: a directory that was left half made looks like a good one.
        new = self._data.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        give(new, self._account)
        command = [binaries.initdb, "-D", str(new), "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C"]
        if self._fast:
            command.append("--no-sync")
        done = subprocess.run(
            self._leashed(signal.SIGTERM, command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(),
            cwd="/",
            check=False,
        )
        if done.returncode != 0:
            said = done.stdout.decode("utf-8", "replace").strip()
            raise DatabaseError(f"the private server's data directory cannot be made in {new}:\n{said[-2000:]}")
        new.rename(self._data)

    def _clear_stale_pid(self) -> None:
        """Remove a pid file whose number now belongs to another program, which PostgreSQL would take for a server.

        Any other it judges by itself, and better.
        """
        lines = self._pid_file()
        if not lines or not lines[0].isdigit():
            return
        try:
            working_directory = Path(f"/proc/{lines[0]}/cwd").readlink()
        except OSError:
            return
        if working_directory == self._data.resolve():
            raise DatabaseError(
                f"a PostgreSQL server that Pepsi did not start, process {lines[0]}, runs on {self._data}: stop it first"
            )
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _pid_file(self) -> list[str]:
        try:
            return (self._data / "postmaster.pid").read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []

    def _leashed(self, death: signal.Signals, command: list[str]) -> list[str]:
        numbers = (self._account.uid, self._account.gid, os.getpid(), int(death))
        return [sys.executable, "-I", "-S", leash.__file__, *map(str, numbers), *command]


def _environment() -> dict[str, str]:
    """Return the whole environment of the server: none of the caller's PG variables, locale or time zone."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
