"""A stage that looks at no content works on all messages that have come, in the time of one."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from psycopg2.extensions import connection as Connection

from pepsi.db import messages
from pepsi.db.statement import Statement
from pepsi.db.sync import run
from pepsi.model.status import OK, Status
from pepsi.worker.layers import Layers
from pepsi.worker.link import Link
from pepsi.worker.loop import Worker as Hands
from pepsi.worker.owed import Patience
from pepsi.worker.run import Runner
from tests.process.batch_stage import Batch
from tests.process.conftest import Configure, Gate
from tests.process.odd_stage import OddOptions
from tests.support_database import Database
from tests.support_worker import EPOCH, TOKEN, Worker, program, put, row, running


class RecordingLink(Link):
    """A link that remembers what it was asked."""

    def __init__(self, database: Database) -> None:
        super().__init__(self._prepared, time.monotonic, random.random)
        self.statements: list[str] = []
        self._database = database

    def _prepared(self) -> Connection:
        connection = self._database.connect("pepsi-stage-work")
        run(connection, messages.prepare(Batch.needs))
        return connection

    def run(self, statement: Statement) -> list[tuple[Any, ...]]:
        self.statements.append(statement.text)
        return super().run(statement)


@pytest.fixture
def link(database: Database) -> Iterator[RecordingLink]:
    made = RecordingLink(database)
    made.open()
    with closing(made):
        yield made


def hands(link: Link) -> Hands:
    options = OddOptions(program="x", next_stage="next")
    patience = Patience(0.0, lambda: False, clock=time.monotonic, wait=threading.Event().wait, chance=random.random)
    return Hands(
        "work", EPOCH, link, Runner(Batch(), Layers("work", options, lambda given: options), random.random), patience
    )


@contextmanager
def batching(config: str) -> Iterator[Worker]:
    command = program("tests.process.batch_stage", "-c", config, "worker")
    with running(command, PEPSI_STAGE="work", PEPSI_EPOCH=str(EPOCH)) as worker:
        assert worker.line() == "ready batch"
        yield worker


def stages(database: Database, *ids: int) -> list[str]:
    return [row(database, number)["stage"] for number in ids]


def test_many_messages_cost_one_load_and_one_write(database: Database, link: RecordingLink) -> None:
    ids = put(database, *["advance"] * 20)
    assert hands(link).handle(ids) == [Status(code=OK)] * 20
    assert len(link.statements) == 2
    assert stages(database, *ids) == ["next"] * 20


def test_outcomes_of_two_kinds_cost_a_write_each(database: Database, link: RecordingLink) -> None:
    ids = put(database, "advance", "finish", "pause", "advance", "finish", "refuse")
    hands(link).handle(ids)
    assert len(link.statements) == 3


def test_answers_come_in_the_order_of_the_ids(database: Database, link: RecordingLink) -> None:
    ids = put(database, "advance", "refuse", "advance", "refuse", "finish")
    order = [ids[3], ids[0], ids[4], ids[1], ids[2]]
    assert [answer.code for answer in hands(link).handle(order)] == [65, 0, 0, 65, 0]


@pytest.mark.parametrize("subject", ["bug", "nothing", "unfit"])
def test_a_message_on_which_the_stage_fails_costs_the_others_nothing(
    database: Database, link: RecordingLink, subject: str
) -> None:
    first, bad, last = put(database, "advance", subject, "advance")
    assert [answer.code for answer in hands(link).handle([first, bad, last])] == [0, 0, 0]
    assert stages(database, first, last) == ["next", "next"]
    assert row(database, bad)["status"] == "paused"
    assert len(link.statements) == 2


def test_a_message_that_the_database_refuses_costs_the_others_nothing(database: Database, link: RecordingLink) -> None:
    first, bad, last = put(database, "advance", "taken", "advance")
    database.rows(
        "CREATE FUNCTION pepsi.no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.state ? 'refused_by_a_trigger' THEN RAISE EXCEPTION 'not so' USING ERRCODE = '23514'; END IF; "
        "RETURN NEW; END $$"
    )
    database.rows("CREATE TRIGGER no BEFORE UPDATE ON pepsi.workqueue FOR EACH ROW EXECUTE FUNCTION pepsi.no()")
    assert [answer.code for answer in hands(link).handle([first, bad, last])] == [0, 0, 0]
    assert stages(database, first, last) == ["next", "next"]
    assert row(database, bad)["status"] == "paused"
    assert "not so" in row(database, bad)["state"]["last_error"]


def test_an_id_handed_over_twice_is_run_once_and_answered_twice(database: Database, link: RecordingLink) -> None:
    (number,) = put(database, "later")
    assert [answer.code for answer in hands(link).handle([number, number])] == [0, 0]
    assert row(database, number)["state"]["temporary_failures"] == 1


def test_a_lone_id_is_not_kept_waiting(configure: Configure, database: Database) -> None:
    with batching(configure("QUEUE_LIMIT = 100")) as worker:
        (number,) = put(database, "advance")
        worker.hand(number)
        assert worker.line() == "0"
        assert stages(database, number) == ["next"]


def test_what_came_meanwhile_is_the_next_batch_and_none_is_larger_than_queue_limit(
    configure: Configure, database: Database, gate: Gate
) -> None:
    with batching(configure("QUEUE_LIMIT = 2", f"GATE = {gate.path}")) as worker:
        ids = put(database, "wait", "wait", "wait", "advance")
        worker.hand(ids[0])
        gate.reached()
        worker.hand(*ids[1:])
        gate.open()
        assert worker.line() == "0"
        gate.reached()
        gate.open()
        gate.reached()
        assert stages(database, *ids) == ["next", "work", "work", "work"]
        gate.open()
        assert worker.lines(3) == ["0", "0", "0"]
        assert stages(database, *ids) == ["next"] * 4


def test_sigterm_lets_the_batch_in_hand_be_finished_and_no_other_be_begun(
    configure: Configure, database: Database, gate: Gate
) -> None:
    with batching(configure("QUEUE_LIMIT = 3", f"GATE = {gate.path}")) as worker:
        ids = put(database, "wait", "advance", "advance", "advance")
        worker.hand(*ids)
        gate.reached()
        worker.process.terminate()
        gate.open()
        assert worker.lines(4) == ["0", "0", "0", ""]
        assert worker.end() == 0
        assert stages(database, *ids) == ["next", "next", "next", "work"]
        assert row(database, ids[3])["claim"] == TOKEN
