"""Several messages of one worker at once: each gets its own outcome, whatever becomes of the others."""

from collections.abc import Iterator

import pytest

from pepsi.db import messages, sync
from pepsi.model.message import Message, Need
from pepsi.model.outcome import Advance, Changes, Finish, Outcome
from pepsi.model.status import Status
from pepsi.stages.api import Options, Refuse, Stage, TryLater
from pepsi.worker.layers import Layers
from pepsi.worker.link import Link
from pepsi.worker.loop import Worker
from pepsi.worker.owed import Patience
from pepsi.worker.run import Runner
from tests.support_database import Database
from tests.support_worker import EPOCH, TOKEN, claim_again, put, row


class Scripted(Stage[Options]):
    """Does what the Subject says."""

    name = "scripted"
    runs = 0

    def process(self, message: Message, options: Options) -> Outcome:
        Scripted.runs += 1
        match message.subject:
            case "refuse":
                raise Refuse("bad")
            case "later":
                raise TryLater("busy")
            case "finish":
                return Finish()
            case "rewrite":
                return Advance(stage="next", changes=Changes(body=b"new"))
            case stage:
                return Advance(stage=stage)


@pytest.fixture
def worker(database: Database) -> Iterator[Worker]:
    def connect():  # type: ignore[no-untyped-def]
        connection = database.connect("pepsi-stage-work")
        sync.run(connection, messages.prepare(Need.METADATA))
        return connection

    link = Link(connect, lambda: 0.0, lambda: 0.0)
    patience = Patience(0.0, lambda: False, clock=lambda: 0.0, wait=lambda seconds: None, chance=lambda: 0.0)
    options = Options(program="x")
    yield Worker(
        "work", EPOCH, link, Runner(Scripted(), Layers("work", options, lambda given: options), lambda: 0.0), patience
    )
    link.close()


def places(database: Database, ids: list[int]) -> list[str | None]:
    found = dict(database.rows("SELECT workqueue_id, status || ' ' || stage FROM pepsi.workqueue"))
    return [found.get(number) for number in ids]


def test_each_of_a_batch_gets_its_own_outcome_and_answer(worker: Worker, database: Database) -> None:
    ids = put(database, "next", "finish", "refuse", "later", "rewrite", "finish", "next")
    answers = worker.handle([*ids, 2**62])
    assert [answer.code for answer in answers] == [0, 0, 65, 0, 0, 0, 0, 0]
    assert places(database, ids) == [
        "pending next",
        None,
        "failed work",
        "paused work",
        "pending next",
        None,
        "pending next",
    ]


def test_an_outcome_that_the_database_refuses_costs_only_its_own_message(worker: Worker, database: Database) -> None:
    database.rows("ALTER TABLE pepsi.workqueue ADD CHECK (stage <> 'forbidden')")
    ids = put(database, "next", "forbidden", "next", "refuse")
    assert [answer.code for answer in worker.handle(ids)] == [0, 0, 0, 65]
    assert places(database, ids) == ["pending next", "paused work", "pending next", "failed work"]
    assert "the database refused what the stage decided" in row(database, ids[1])["state"]["last_error"]


def test_only_rows_that_are_still_ours_are_written(worker: Worker, database: Database) -> None:
    ids = put(database, "next", "next")
    claim_again(database, ids[0], token=TOKEN + (1 << 40))
    assert worker.handle(ids) == [Status(code=0), Status(code=0)]
    assert places(database, ids) == ["running work", "pending next"]


def test_an_id_that_comes_twice_runs_once(worker: Worker, database: Database) -> None:
    (number,) = put(database, "next")
    Scripted.runs = 0
    assert worker.handle([number, number]) == [Status(code=0), Status(code=0)]
    assert places(database, [number]) == ["pending next"]
    assert Scripted.runs == 1
