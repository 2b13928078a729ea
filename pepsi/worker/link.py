"""The worker's one database connection, which is made anew when it breaks.

A message that meets a broken connection is answered for at once, never kept waiting: the dispatcher knows better than
one of its workers when to try again. Only what a stage did already is kept: see ``owed``.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import psycopg2
from psycopg2.extensions import connection as Connection

from pepsi.db.faults import Fault, fault_of
from pepsi.db.statement import Statement
from pepsi.db.sync import run
from pepsi.errors import DatabaseError
from pepsi.model.text import one_line
from pepsi.sched.backoff import delay, jittered
from pepsi.worker.note import note

FIRST_DELAY = 0.25
LONGEST_DELAY = 10.0
"""Seconds between two attempts to connect."""


class TroubleError(Exception):
    """The database did not do what it was asked; *fault* says what kind of trouble that is."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


class DownError(TroubleError):
    """It is not there, or was lost in the middle: nobody knows whether the statement had an effect."""


class RefusedError(TroubleError):
    """It is there, and refused the statement, which had no effect."""


class Link:
    """A connection. *connect* makes one, ready for use; *clock* counts seconds; *chance* returns 0 up to 1."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._chance = chance
        self._connection: Connection | None = None
        self._failures = 0
        self._next_try = 0.0
        self._down = DownError(Fault.LOST, "not connected")

    def open(self) -> None:
        """Make the first connection. Raises psycopg2.Error, DatabaseError."""
        self._connection = self._connect()

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def run(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Run *statement* and return its rows.

        Raises RefusedError if the server did not like it, DownError for every other kind of trouble: at once if it is
        too early for another attempt to connect.
        """
        connection = self._connected()
        try:
            return run(connection, statement)
        except psycopg2.Error as error:
            fault, reason = fault_of(error), one_line(str(error))
            if fault in (Fault.DATA, Fault.OTHER):
                raise RefusedError(fault, reason) from error
            self._lost(fault, reason)
            raise self._down from error

    @property
    def descriptor(self) -> int | None:
        """What to watch while idle: it has something to read when the connection breaks. None while there is none."""
        return None if self._connection is None else self._connection.fileno()

    @property
    def due(self) -> float | None:
        """In how many seconds to call ``tend`` even though the descriptor has nothing. None: not at all."""
        return None if self._connection is not None else max(0.0, self._next_try - self._clock())

    def tend(self) -> None:
        """See whether the connection still stands, and make another if there is none: while no message is in hand.

        So a server that was restarted over a quiet time costs no message a detour.
        """
        if self._connection is not None:
            try:
                self._connection.poll()
            except psycopg2.Error as error:
                self._lost(fault_of(error), one_line(str(error)))
        if self._connection is None and self._clock() >= self._next_try:
            with contextlib.suppress(DownError):
                self._connected()

    def _connected(self) -> Connection:
        if self._connection is not None:
            return self._connection
        if self._clock() < self._next_try:
            raise self._down
        try:
            self._connection = self._connect()
        except (psycopg2.Error, DatabaseError) as error:
            self._failures += 1
            wait = jittered(delay(self._failures, FIRST_DELAY, LONGEST_DELAY), self._chance)
            self._next_try = self._clock() + wait
            self._down = DownError(fault_of(error), one_line(str(error)))
            note(f"warning: no database connection, next attempt in {wait:.1f} s: {self._down}")
            raise self._down from error
        self._failures = 0
        note("connected to the database again")
        return self._connection

    def _lost(self, fault: Fault, reason: str) -> None:
        """Let go of the connection. Another may be tried at once, unless it would lead to the same standby again."""
        note(f"warning: the database connection is given up: {reason}")
        self.close()
        self._next_try = self._clock() + (LONGEST_DELAY if fault is Fault.READ_ONLY else 0.0)
        self._down = DownError(fault, reason)
