"""The client of a chaos run: puts messages in from many senders, and keeps a list of what was committed."""

import os
import random
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg2
from psycopg2.extensions import connection as Connection

from pepsi.db import sync
from pepsi.db.inject import insert
from pepsi.db.session import Parameters
from pepsi.db.statement import Statement
from pepsi.model.envelope import Arrival
from tests.chaos import plan
from tests.chaos.outage import is_outage
from tests.chaos.plan import Plan

SENDERS = 200
BACKLOG = 1500
"""As many messages in the queue make the client wait: the load is to keep things busy, not to bury them."""
BURST = (20, 150)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the client has tried to put in. *message* is its id; None: it never heard of the commit."""

    plan: Plan
    message: int | None


class Load:
    """Puts messages in until it is told to stop, about *rate* a second, of which some come in bursts.

    It releases parked messages now and then, as an operator does. *directory* gets the list: ``try KEY`` before a
    message is put in, ``done KEY ID`` once that is committed.
    """

    def __init__(self, dsn: str, directory: Path, seed: int, rate: float) -> None:
        self._parameters = Parameters(dsn=dsn, application_name="chaos: client", statement_timeout=60)
        self._list = os.open(directory / "sent", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._chance = random.Random(seed)
        self._rate = rate
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="client")
        self._key = 0
        self.broken = ""
        """Why it has come to an end of its own. A run without load would prove nothing."""
        self.sent: dict[int, Sent] = {}
        """By key. To be read when the client has stopped."""

    def warm(self, count: int) -> None:
        """Put *count* messages in at once that all pass. Raises psycopg2.Error."""
        with closing(sync.connect(self._parameters)) as connection:
            self._put(connection, [Plan(self._next()) for _ in range(count)])

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Come to an end. May be called again."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def close(self) -> None:
        """Give back what it has."""
        self.stop()
        os.close(self._list)

    def _run(self) -> None:
        try:
            self._go_on()
        except BaseException as error:
            self.broken = f"the client has ended: {error!r}"
            raise

    def _go_on(self) -> None:
        while not self._stop.is_set():
            try:
                with closing(sync.connect(self._parameters)) as connection:
                    self._feed(connection)
            except psycopg2.Error as error:
                if not is_outage(error):
                    raise
                self._stop.wait(0.2)

    def _feed(self, connection: Connection) -> None:
        looked = 0.0
        while not self._stop.is_set():
            if time.monotonic() > looked + 1:
                looked = time.monotonic()
                self._release(connection)
                if self._waiting(connection) > BACKLOG:
                    self._stop.wait(1)
                    continue
            count = self._chance.randint(*BURST) if self._chance.random() < 0.01 else 1
            self._put(connection, [plan.draw(self._next(), self._chance) for _ in range(count)])
            self._stop.wait(self._chance.expovariate(self._rate))

    def _put(self, connection: Connection, plans: list[Plan]) -> None:
        for planned in plans:
            self.sent[planned.key] = Sent(planned, None)
        self._note("".join(f"try {planned.key}\n" for planned in plans))
        rows = sync.run(connection, self._single(plans[0]) if len(plans) == 1 else self._batch(plans))
        for planned, (number,) in zip(plans, rows, strict=True):
            self.sent[planned.key] = Sent(planned, number)
        self._note("".join(f"done {planned.key} {number}\n" for planned, (number,) in zip(plans, rows, strict=True)))

    def _single(self, planned: Plan) -> Statement:
        return Statement(
            "SELECT pepsi.workqueue_inject(%(stage)s, %(sender)s, '{b@line.example}', %(message)s, '', %(subject)s)",
            {"stage": plan.SORT, "sender": self._sender(), "message": _message(planned), "subject": planned.subject},
        )

    def _batch(self, plans: list[Plan]) -> Statement:
        return insert([self._arrival(planned) for planned in plans], plan.SORT)

    def _arrival(self, planned: Plan) -> Arrival:
        return Arrival(mail_from=self._sender(), recipients=("b@line.example",), message=_message(planned))

    def _sender(self) -> str:
        # A few send most of the mail.
        number = min(SENDERS, int(self._chance.paretovariate(0.6)))
        return f"a@sender{number}.example"

    def _release(self, connection: Connection) -> None:
        sync.run(
            connection,
            Statement(
                "SELECT pepsi.workqueue_resume(workqueue_id) FROM pepsi.workqueue "
                "WHERE status = 'paused' AND timeout IS NULL AND random() < 0.2"
            ),
        )

    def _waiting(self, connection: Connection) -> int:
        ((count,),) = sync.run(connection, Statement("SELECT count(*) FROM pepsi.workqueue WHERE status = 'pending'"))
        return int(count)

    def _next(self) -> int:
        self._key += 1
        return self._key

    def _note(self, lines: str) -> None:
        os.write(self._list, lines.encode())


def _message(planned: Plan) -> bytes:
    return b"Subject: %s\r\n\r\nbody\r\n" % planned.subject.encode()
