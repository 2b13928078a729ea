"""The blocking driver, for workers and tools. The reactor side never imports this module."""

import random
import time
from collections.abc import Callable
from typing import Any

import psycopg2
from psycopg2.extensions import TRANSACTION_STATUS_IDLE
from psycopg2.extensions import connection as Connection

from pepsi.db.faults import Fault, fault_of
from pepsi.db.session import Parameters, conninfo, pins
from pepsi.db.statement import Statement

TRIES = 6
"""How often a statement that lost a deadlock or the like is run before its error is passed on."""


def connect(parameters: Parameters) -> Connection:
    """Return a pinned connection in autocommit mode: each statement is a transaction of its own.

    Raises psycopg2.Error (``fault_of`` says of which kind) and ConfigError.
    """
    connection = psycopg2.connect(conninfo(parameters))
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(pins(parameters))
    except psycopg2.Error:
        connection.close()
        raise
    return connection


def run(
    connection: Connection, statement: Statement, *, sleep: Callable[[float], None] = time.sleep
) -> list[tuple[Any, ...]]:
    """Run *statement* and return its rows: none for a statement that has no result.

    A fault of kind RETRY is met by running it again, ``TRIES`` times at most. Raises psycopg2.Error.
    """
    attempt = 0
    while True:
        try:
            with connection.cursor() as cursor:
                cursor.execute(*statement.call)
                return cursor.fetchall() if cursor.description is not None else []
        except psycopg2.Error as error:
            attempt += 1
            # Inside a transaction the whole of it is lost, and only its owner can begin it again.
            alone = connection.info.transaction_status == TRANSACTION_STATUS_IDLE
            if fault_of(error) is not Fault.RETRY or attempt == TRIES or not alone:
                raise
        sleep(random.uniform(0.5, 1.5) * 0.005 * 2**attempt)
