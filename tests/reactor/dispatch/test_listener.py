"""A notification is a hint, and so is each new connection."""

from typing import Any, cast

from twisted.internet import defer

from pepsi.db.faults import Fault
from pepsi.db.statement import Statement
from pepsi.dispatch.listener import Listener
from pepsi.dispatch.reload import Wanted
from pepsi.reactor.session import Refused
from pepsi.sched.events import Event, Wake, Woken
from tests.fakes_dispatch import FakeSession


class Ear:
    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.error: Exception | None = None
        self.session = FakeSession(self._answer)
        self.changes: list[Wanted] = []
        self.listener = Listener(cast(Any, self.session), self.heard.append, self.changes.append)
        assert defer.ensureDeferred(self.listener.listen()).called

    def _answer(self, statement: Statement) -> list[tuple[Any, ...]]:
        assert statement.text == (
            "LISTEN workqueue; LISTEN workqueue_repair; LISTEN config_changed; LISTEN telemetry_changed"
        )
        if self.error is not None:
            raise self.error
        return []


def test_what_is_said_on_its_channel_is_a_wake_and_nothing_else_is() -> None:
    ear = Ear()
    ear.session.hear("workqueue")
    ear.session.hear("somebody_elses")
    ear.session.hear("workqueue_repair")
    assert ear.heard == [Woken(Wake.NOTIFIED), Woken(Wake.REPAIR)]
    assert not ear.changes


def test_what_concerns_the_configuration_is_no_wake() -> None:
    ear = Ear()
    ear.session.hear("config_changed")
    ear.session.hear("telemetry_changed")
    assert ear.changes == [Wanted.RELOAD, Wanted.RENEW]
    assert not ear.heard


def test_a_new_connection_listens_again_and_is_a_wake_since_much_was_missed() -> None:
    ear = Ear()
    ear.session.lose()
    assert not ear.heard
    ear.session.return_()
    assert len(ear.session.ran) == 2
    assert ear.heard == [Woken(Wake.CONNECTED)]
    assert ear.changes == [Wanted.COMPARE]


def test_a_connection_that_cannot_listen_is_thrown_away() -> None:
    ear = Ear()
    ear.session.lose()
    ear.error = Refused("cannot execute LISTEN during recovery", Fault.OTHER)
    ear.session.return_()
    assert not ear.heard
    assert "LISTEN during recovery" in ear.session.dropped[0]
