"""Installs, upgrades, checks and drops the schema: ``pepsi-setup schema``."""

import contextlib
from collections.abc import Iterator, Sequence

import psycopg2
from psycopg2.extensions import connection as Connection

from pepsi.db import leadership, schema
from pepsi.db.binaries import OLDEST
from pepsi.db.schema import SchemaState, SqlFile, Verdict
from pepsi.db.session import DISPATCHER_LOCK, SETUP_LOCK
from pepsi.db.statement import named
from pepsi.db.sync import run
from pepsi.errors import EX_ERROR, DatabaseError, SchemaError


class SetupFailed(DatabaseError):
    """The database could not be changed as asked. What stood there stands."""

    exit_status = EX_ERROR


def state_of(connection: Connection, files: Sequence[SqlFile]) -> SchemaState:
    """Return how the schema of the database compares with *files*."""
    ((present,),) = run(connection, schema.present())
    return schema.verdict([(row[0], row[1]) for row in run(connection, schema.recorded())] if present else [], files)


def install(connection: Connection, files: Sequence[SqlFile], *, roles: bool) -> str:
    """Make the schema where there is none, with *roles* those too; return what was done. Raises SchemaError."""
    with _locked(connection):
        state = state_of(connection, files)
        if state.verdict is Verdict.OLDER:
            raise SchemaError(str(state))
        return _apply(connection, files, state, roles=roles)


def upgrade(connection: Connection, files: Sequence[SqlFile]) -> str:
    """Bring an older schema up to date; return what was done. Raises SchemaError."""
    with _locked(connection):
        state = state_of(connection, files)
        if state.verdict is Verdict.MISSING:
            raise SchemaError(str(state))
        return _apply(connection, files, state, roles=False)


def ensure(connection: Connection, files: Sequence[SqlFile]) -> str:
    """Install or upgrade, whichever is needed; return what was done. Raises SchemaError."""
    with _locked(connection):
        return _apply(connection, files, state_of(connection, files), roles=False)


def drop(connection: Connection) -> str:
    """Remove the schema with all messages; return what was done. Raises SetupFailed while a dispatcher works on it."""
    with _locked(connection):
        ((present,),) = run(connection, named("schema_exists"))
        if not present:
            return "the database holds no schema of Pepsi"
        if run(connection, leadership.try_lock()) != [(True,)]:
            holder = leadership.holder_of(run(connection, leadership.lock_holder()))
            raise SetupFailed(f"a dispatcher works on this database: the lock is {holder}; stop it first")
        try:
            run(connection, schema.drop())
        finally:
            _unlock(connection, DISPATCHER_LOCK)
        return "dropped the schema and every message in it"


def _apply(connection: Connection, files: Sequence[SqlFile], state: SchemaState, *, roles: bool) -> str:
    todo = schema.steps(state, files)
    if todo:
        _check_ground(connection)
    release = state.release
    for file in todo:
        try:
            run(connection, file.statement)
        except psycopg2.Error as error:
            stands = f"release {release} stands as it was" if release else "nothing was changed"
            raise SetupFailed(f"{file.name} failed, {stands}: {error.diag.message_primary or error}") from error
        release = file.number
    # An upgrade may have brought tables that the roles have no rights to yet.
    if roles or (todo and state.release and run(connection, named("schema_roles")) == [(4,)]):
        try:
            run(connection, schema.roles())
        except psycopg2.Error as error:
            raise SetupFailed(
                f"the roles cannot be set up: {error.diag.message_primary or error}; "
                "run 'pepsi-setup schema install --roles' as a role that may create roles"
            ) from error
    if not todo:
        return str(state)
    if not state.release:
        return f"installed release {release} of the schema"
    return f"upgraded the schema from release {state.release} to {release}"


@contextlib.contextmanager
def _locked(connection: Connection) -> Iterator[None]:
    """Let nobody else change the schema meanwhile; waits for whoever does so already."""
    number, part = SETUP_LOCK
    run(connection, named("schema_lock", **{"class": number, "object": part}))
    try:
        yield
    finally:
        _unlock(connection, SETUP_LOCK)


def _unlock(connection: Connection, lock: tuple[int, int]) -> None:
    # A connection that is gone has given back its locks, and why it went is more worth telling.
    if not connection.closed:
        run(connection, named("schema_unlock", **{"class": lock[0], "object": lock[1]}))


def _check_ground(connection: Connection) -> None:
    ((version, encoding, standby),) = run(connection, named("schema_ground"))
    if version < OLDEST * 10_000:
        raise SetupFailed(f"the server is PostgreSQL {version // 10_000}; Pepsi needs {OLDEST} or newer")
    if standby:
        raise SetupFailed("the server is a standby, which cannot be changed; connect to the primary")
    if encoding != "UTF8":
        raise SetupFailed(
            f"the database is encoded in {encoding}, and mail is not; make one in UTF8: name a new one in "
            "[pepsi-postgres] DSN and run 'pepsi-setup database create'"
        )
