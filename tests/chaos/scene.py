"""Where a chaos run takes place: a server of its own behind a proxy, a database, the configurations."""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg2.extensions import make_dsn

from pepsi.db import schema, sync
from pepsi.db.embedded import PrivateServer, home_of
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from tests.chaos import stepped
from tests.chaos.plan import SEND, SORT, WORK
from tests.support_proxy import Proxy

MAX_RUNTIME = 10.0
"""Seconds that a worker may be at a message."""
STATEMENT_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Scene:
    """*dsn* leads to the database past the proxy, which is what the client and the oracle do."""

    directory: Path
    server: PrivateServer
    dsn: str
    proxy: Proxy
    proxied: str
    config: Path
    standby: Path
    clock: Path

    def rows(self, text: str, **params: Any) -> list[tuple[Any, ...]]:
        """Run one statement. Raises psycopg2.OperationalError while the server is away."""
        parameters = Parameters(dsn=self.dsn, application_name="chaos: oracle", statement_timeout=60)
        with contextlib.closing(sync.connect(parameters)) as connection:
            return sync.run(connection, Statement(text, params))

    @property
    def server_log(self) -> Path:
        """What the server has to say."""
        return home_of(self.directory) / "server.log"

    def postmaster(self) -> int | None:
        """Return the process id of the server, None if it does not run."""
        try:
            return int((home_of(self.directory) / "data" / "postmaster.pid").read_text().splitlines()[0])
        except (FileNotFoundError, IndexError, ValueError):
            return None


@contextlib.contextmanager
def scene() -> Iterator[Scene]:
    """Set the scene up in a directory of its own, for the length of a block."""
    directory = Path(tempfile.mkdtemp(prefix="pepsi-chaos-"))
    try:
        server = PrivateServer(directory)
        with contextlib.ExitStack() as stack:
            stack.callback(server.stop)
            given = server.start()
            dsn = make_dsn(given, dbname="chaos")
            admin = stack.enter_context(contextlib.closing(sync.connect(_parameters(given))))
            sync.run(admin, Statement("CREATE DATABASE chaos"))
            with contextlib.closing(sync.connect(_parameters(dsn))) as connection:
                for file in schema.shipped():
                    sync.run(connection, file.statement)
            proxy = stack.enter_context(Proxy(dsn))
            clock = directory / "clock"
            stepped.step(clock, 0.0)
            config, standby = directory / "pepsi.conf", directory / "standby.conf"
            for path, line in ((config, ""), (standby, "STANDBY = yes")):
                path.write_text(_config(directory, path, proxy.dsn, clock, line), "utf-8")
            yield Scene(directory, server, dsn, proxy, proxy.dsn, config, standby, clock)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _parameters(dsn: str) -> Parameters:
    return Parameters(dsn=dsn, application_name="chaos: scene")


def _config(directory: Path, path: Path, dsn: str, clock: Path, line: str) -> str:
    program = f"{sys.executable} -bb -m tests.chaos.stepped {clock}"
    return f"""
[pepsi]
HOSTNAME = line.example
STATE_DIRECTORY = {directory}
[pepsi-postgres]
DSN = {dsn}
CONNECT_TIMEOUT = 3 s
STATEMENT_TIMEOUT = {STATEMENT_TIMEOUT:g} s
[pepsi-dispatch]
CONFIG_FILE = {path}
MAX_RUNTIME = {MAX_RUNTIME:g} s
WORKER_IDLE_TIMEOUT = 2 s
POLL_INTERVAL = 5 s
STATS_INTERVAL = 5 s
{line}
[pepsi-ingress]
ENTRY_STAGE = {SORT}
[stage-{SORT}]
PROGRAM = pepsi-stage-if
CONDITION = all recipient_domains == "line.example"
THEN_STAGE = {WORK}
ELSE_STAGE = {WORK}
PARALLELISM = 2
[stage-{WORK}]
PROGRAM = {program} tests.chaos.stage
RECORD_DIRECTORY = {directory}
NEXT_STAGE = {SEND}
PARALLELISM = 3
[stage-{SEND}]
PROGRAM = {program} tests.chaos.puppet {directory}
PARALLELISM = 3
"""
