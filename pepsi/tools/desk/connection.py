"""The database of a tool on the reactor. To import this is what takes long, so it is done when it is needed."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg2
from twisted.internet import reactor

from pepsi.db.faults import Fault
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from pepsi.reactor.once import one_session, run_once
from pepsi.reactor.session import Refused, Session, Unavailable
from pepsi.tools.common import INTERRUPTED
from pepsi.tools.desk.command import Ask, Away, Rejected

_MENDS = {
    "42P01": "'pepsi-setup schema' makes or upgrades what this needs",  # undefined_table
    "42703": "'pepsi-setup schema' makes or upgrades what this needs",  # undefined_column
    "3F000": "'pepsi-setup schema' makes or upgrades what this needs",  # invalid_schema_name
    "42501": "connect as pepsi_admin, or as the owner of the schema",  # insufficient_privilege
}


def perform(parameters: Parameters, file: Path, work: Callable[[Ask], Awaitable[None]]) -> None:
    """Run *work* with a connection of *parameters*, which *file* told.

    Raises what *work* raises, Away, and KeyboardInterrupt when somebody has interrupted it. It can be called once in a
    process: a reactor does not start again.
    """

    async def whole() -> int:
        try:
            session = await one_session(reactor, parameters)
        except Unavailable as error:
            raise Away(_away(error, file)) from error
        try:
            await work(lambda statement: _ask(session, statement, file))
        finally:
            await session.stop()
        return 0

    run_once(reactor, whole, interrupted=INTERRUPTED)


async def _ask(session: Session, statement: Statement, file: Path) -> list[tuple[Any, ...]]:
    try:
        return await session.run(statement)
    except Unavailable as error:
        raise Away(_away(error, file)) from error
    except Refused as error:
        raise Rejected(f"the database says: {error}{_mend(error)}") from error
    except UnicodeDecodeError as error:
        raise Rejected("the database is not encoded in UTF8, and mail is; 'pepsi-setup doctor' says more") from error


def _away(error: Unavailable, file: Path) -> str:
    return f"{error}; check [pepsi-postgres] DSN in {file}, and whether the server runs"


def _mend(error: Refused) -> str:
    cause = error.__cause__
    code = cause.pgcode if isinstance(cause, psycopg2.Error) else None
    if error.fault is Fault.CANCELLED:
        return "; somebody's transaction may hold it for long: 'pepsi-setup doctor' names old ones"
    mend = _MENDS.get(code or "")
    return f"; {mend}" if mend else ""
