"""All of Pepsi for one machine in one process tree: private server, schema, dispatcher, door."""

import os
from contextlib import closing
from dataclasses import dataclass

import psycopg2
from twisted.logger import Logger

from pepsi.config.load import VARIABLE, Config
from pepsi.db import schema, sync
from pepsi.db.session import Parameters
from pepsi.dispatch.service import DispatchService
from pepsi.errors import DatabaseError
from pepsi.ingress.service import DoorService
from pepsi.reactor.chain import Chain
from pepsi.tap.command import Ending
from pepsi.tap.database import add_database
from pepsi.tap.dispatch import add_dispatcher
from pepsi.tap.ingress import add_door
from pepsi.tools.common import explained
from pepsi.tools.schema import ensure

log = Logger()


class NoDatabase(DatabaseError):
    """The database cannot be reached, or refuses what has to be done before anything can start."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything, ready to be started: *service* is all of it."""

    service: Chain
    dsn: str
    dispatcher: DispatchService
    door: DoorService


def assemble(config: Config, ending: Ending) -> Whole:
    """Start the private server if DSN asks for it, bring the schema up to date, and join the rest.

    Blocks while the server starts; call it before anything waits for the reactor. Raises PepsiError.
    """
    parent = Chain()  # type: ignore[no-untyped-call]
    dsn = add_database(parent, config)
    try:
        with closing(sync.connect(Parameters(dsn=dsn, application_name="pepsi up"))) as connection:
            log.info("{what}", what=ensure(connection, schema.shipped()))
    except psycopg2.Error as error:
        raise NoDatabase(explained(error)[0]) from error
    # Workers look for their configuration themselves: let them find the one that was given here.
    environ = {**os.environ, VARIABLE: str(config.path)}
    dispatcher = add_dispatcher(parent, config, dsn, ending, environ)
    return Whole(parent, dsn, dispatcher, add_door(parent, config, dsn, ending))
