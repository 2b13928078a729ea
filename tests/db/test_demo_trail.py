"""What the demo's database writes down."""

from pepsi.db.inject import insert
from pepsi.demo import trail
from pepsi.demo.story import Ending, stories
from pepsi.model.envelope import Arrival
from pepsi.model.row import RowStatus
from tests.support_database import Database

ARRIVAL = Arrival(mail_from="a@b.example", recipients=("c@d.example",), message=b"Subject: x\r\n\r\n")


def test_every_step_of_a_message_is_on_the_trail_until_it_is_gone(database: Database) -> None:
    database.run(trail.keep())
    ((number,),) = database.run(insert([ARRIVAL], "sort"))
    database.rows("UPDATE pepsi.workqueue SET status = 'running', claim = 1")
    database.rows("UPDATE pepsi.workqueue SET state = '{}'")
    database.rows("UPDATE pepsi.workqueue SET status = 'pending', claim = NULL, stage = 'deliver'")
    database.rows("DELETE FROM pepsi.workqueue")
    steps = trail.steps(database.run(trail.read()))
    assert [(step.workqueue_id, step.stage, step.status) for step in steps] == [
        (number, "sort", RowStatus.PENDING),
        (number, "sort", RowStatus.RUNNING),
        (number, "deliver", RowStatus.PENDING),
        (number, "", None),
    ]
    assert [step.at for step in steps] == sorted(step.at for step in steps)
    (story,) = stories(steps, {number: "plain"})
    assert story.ending is Ending.DONE


def test_a_new_trail_begins_empty(database: Database) -> None:
    database.run(trail.keep())
    database.run(insert([ARRIVAL], "sort"))
    database.run(trail.keep())
    assert database.run(trail.read()) == []
