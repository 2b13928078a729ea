"""The private PostgreSQL server under STATE_DIRECTORY: owned by the first that takes its lock, used by all others.

Its only door is a socket in a directory that one account can enter; it never listens on the network. It lives as long
as its owner: a killed owner takes it along, and the lock is free again only when the last of its processes has ended.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psycopg2
from psycopg2.extensions import make_dsn

from pepsi.db.account import admit, choose, closed_to
from pepsi.db.cluster import PORT, SUPERUSER, Cluster
from pepsi.db.sockets import make_private, socket_directory, unmake
from pepsi.errors import DatabaseError
from pepsi.model.text import one_line

DATABASE = "pepsi"
ATTACH_TIMEOUT = 120.0
"""Seconds that a server which somebody else is starting is waited for."""

_LOOK = 0.02
_REPORT = 5.0
"""Seconds between two looks at a server that starts, and between two reports of how it gets on."""

Log = Callable[[str], None]


def home_of(state_directory: Path) -> Path:
    """Return where the private server of *state_directory* lives."""
    return state_directory / "postgres"


def connection_of(state_directory: Path) -> str:
    """Return the libpq string of the server that runs under *state_directory*. Raises DatabaseError when none does."""
    try:
        return (home_of(state_directory) / "connection").read_text("utf-8")
    except FileNotFoundError:
        raise DatabaseError(
            f"the private server under {state_directory} is not running: 'pepsi up', 'pepsi-dispatch serve' or "
            "'pepsi-ingress serve' starts it"
        ) from None
    except PermissionError as error:
        raise DatabaseError(f"{error.filename} may not be read: run this as the account that runs Pepsi") from None


def forget_libpq_variables() -> None:
    """Take the variables of libpq out of this process's environment, for good; PGAPPNAME does no harm.

    They lead to somebody's other database. Of most there is no keyword by which the private server's string could
    override them in every version of libpq, and some break a connect whatever the string says.
    """
    for name in [name for name in os.environ if name.startswith("PG") and name != "PGAPPNAME"]:
        del os.environ[name]


class PrivateServer:
    """The private server as one process sees it: its own, or somebody else's that it uses.

    *log* is told, in sentences, what takes long or went wrong.
    """

    def __init__(
        self,
        state_directory: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        log: Log = lambda sentence: None,
        fast: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._state_directory = state_directory.absolute()
        self._home = home_of(self._state_directory)
        self._environ = environ
        self._log = log
        self._fast = fast
        self._sleep = sleep
        self._lock: int | None = None
        self._cluster: Cluster | None = None
        self._sockets = socket_directory(self._home)
        self._published = False
        self._unreachable = False
        """Whether the server was told to end because nobody can get at it."""

    @property
    def owned(self) -> bool:
        """Whether the server is this process's to keep alive."""
        return self._lock is not None

    def start(self, attach_timeout: float = ATTACH_TIMEOUT) -> str:
        """Start the server or attach to the one that runs; return its libpq string. Blocks.

        A server that recovers from a crash is waited for as long as it takes; one that somebody else is starting, for
        *attach_timeout* seconds. Raises DatabaseError.
        """
        forget_libpq_variables()
        waited = 0.0
        while not self._take_lock():
            dsn = self._running()
            if dsn is not None:
                return dsn
            if waited >= attach_timeout:
                raise DatabaseError(
                    f"another process holds {self._home / 'lock'}, but its server takes no connections after "
                    f"{attach_timeout:.0f} s; its log is {self._home / 'server.log'}"
                )
            self._sleep(_LOOK)
            waited += _LOOK
        try:
            self._spawn()
            self._wait_until_ready()
            _make_database(self._dsn("postgres"))
        except BaseException:
            self.stop()
            raise
        self._publish()
        return self._dsn()

    def tend(self) -> bool:
        """Look after the server once, without waiting.

        Start it again if it died or lost its socket, take it over if its owner is gone. Returns whether it can be
        reached, as far as can be told without connecting. Call it from the main thread.
        Raises DatabaseError when it cannot be started.
        """
        if self._lock is None:
            if not self._take_lock():
                return True
            self._log("the private server's owner has ended; taking the server over")
        elif self._cluster is not None and self._cluster.alive:
            if not self._unreachable and self._cluster.ready:
                self._look_for_socket(self._cluster)
            return self._published
        elif self._cluster is not None and not self._unreachable:
            self._log(f"the private server has died; starting it again. It said: {self._cluster.last_words()}")
        self._published = self._unreachable = False
        self._spawn()
        return False

    def request_stop(self) -> None:
        """Ask the server to end, if it is ours, without waiting. Call ``stop`` later."""
        if self._cluster is not None:
            self._cluster.request_stop()

    @property
    def stopping(self) -> bool:
        """Whether the server is ours and still runs."""
        return self._cluster is not None and self._cluster.alive

    def stop(self) -> None:
        """End the server if it is ours, cutting off its clients, and give the lock back. Blocks, at most 40 seconds."""
        if self._lock is None:
            return
        if self._cluster is not None:
            self._cluster.stop()
            self._cluster = None
            unmake(self._sockets)
        if self._published:
            (self._home / "connection").unlink(missing_ok=True)
            self._published = False
        os.close(self._lock)
        self._lock = None

    def _take_lock(self) -> bool:
        try:
            self._state_directory.mkdir(parents=True, exist_ok=True)
            self._home.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(self._home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DatabaseError(
                f"{error.filename}: {error.strerror}; set [pepsi] STATE_DIRECTORY to a directory of "
                "the account that runs Pepsi"
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def _running(self) -> str | None:
        """Return the libpq string of somebody else's server if it takes connections."""
        try:
            dsn = connection_of(self._state_directory)
            psycopg2.connect(dsn, connect_timeout=2).close()
        except (DatabaseError, psycopg2.OperationalError):
            return None
        return dsn

    def _spawn(self) -> None:
        assert self._lock is not None
        if self._cluster is None:
            account = choose()
            if not account.is_ours:
                admit(account, self._state_directory)
                self._home.chmod(0o711)
            closed = closed_to(account, self._home)
            if closed is not None:
                raise DatabaseError(
                    f"account {account.name}, as which the private server runs, may not enter {closed}: "
                    f"PostgreSQL does not run as root; set [pepsi] STATE_DIRECTORY to another place than "
                    f"{self._state_directory}, or open {closed} to that account"
                )
            cluster = Cluster(self._home, account, self._environ, fast=self._fast)
            cluster.prepare()
            make_private(self._sockets, account)
            self._cluster = cluster
        else:
            # Whatever ended the server, or took its socket away, may have taken the directory too.
            make_private(self._sockets, self._cluster.account)
        self._cluster.spawn(self._sockets, self._lock)

    def _look_for_socket(self, cluster: Cluster) -> None:
        """Publish the server, or tell it to end if its socket is gone: it never makes another while it runs."""
        socket = self._sockets / f".s.PGSQL.{PORT}"
        if socket.is_socket():
            self._publish()
            return
        self._log(f"{socket}, the only door of the private server, is gone; restarting the server")
        self._published, self._unreachable = False, True
        cluster.request_stop()

    def _wait_until_ready(self) -> None:
        assert self._cluster is not None
        waited, report = 0.0, _REPORT
        while not self._cluster.ready:
            if not self._cluster.alive:
                raise DatabaseError(f"the private server does not start:\n{self._cluster.last_words(10)}")
            if waited >= report:
                self._log(f"the private server is still starting after {waited:.0f} s: {self._cluster.last_words()}")
                report += _REPORT
            self._sleep(_LOOK)
            waited += _LOOK

    def _publish(self) -> None:
        if self._published:
            return
        new = self._home / "connection.new"
        new.write_text(self._dsn(), "utf-8")
        new.replace(self._home / "connection")
        self._published = True

    def _dsn(self, database: str = DATABASE) -> str:
        # What is set to nothing would otherwise be taken from a PG variable of the environment.
        return make_dsn(
            host=str(self._sockets),
            hostaddr="",
            port=PORT,
            user=SUPERUSER,
            dbname=database,
            options="",
            sslmode="disable",
            gssencmode="disable",
            channel_binding="disable",
            target_session_attrs="any",
            requirepeer="",
        )


@contextlib.contextmanager
def private_server(state_directory: Path, *, log: Log = lambda sentence: None, fast: bool = False) -> Iterator[str]:
    """Run the private server, or use the one that runs, for the length of a block; gives its libpq string."""
    server = PrivateServer(state_directory, log=log, fast=fast)
    try:
        yield server.start()
    finally:
        server.stop()


def _make_database(dsn: str) -> None:
    try:
        with contextlib.closing(psycopg2.connect(dsn)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT FROM pg_database WHERE datname = %s", (DATABASE,))
                if cursor.fetchone() is None:
                    cursor.execute(f"CREATE DATABASE {DATABASE}")
    except psycopg2.Error as error:
        raise DatabaseError(f"the private server runs, but cannot be used: {one_line(str(error))}") from error
