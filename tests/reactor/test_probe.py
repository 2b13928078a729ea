"""A session that does not answer is found out, and thrown away."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from twisted.internet import defer
from twisted.internet.task import Clock

from pepsi.db.statement import Statement
from pepsi.reactor.probe import Probe
from pepsi.reactor.session import Unavailable
from tests.fakes_dispatch import FakeSession


class SlowSession(FakeSession):
    """Answers when the test lets it."""

    def __init__(self) -> None:
        super().__init__(lambda _: [])
        self.questions: list[defer.Deferred[list[tuple[Any, ...]]]] = []

    async def run(self, statement: Statement) -> list[tuple[Any, ...]]:
        self.questions.append(defer.Deferred())
        return await self.questions[-1]

    def drop(self, why: str) -> None:
        super().drop(why)
        self.questions[-1].errback(Unavailable(why))


class Watched:
    """A session that is asked every 20 seconds for an answer within 70."""

    def __init__(self, clock: Clock) -> None:
        self.session = SlowSession()
        self.probe = Probe(clock, cast(Any, self.session), patience=70.0, interval=20.0)
        self.probe.start()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watched(clock: Clock) -> Iterator[Watched]:
    made = Watched(clock)
    yield made
    made.probe.stop()
    assert not clock.getDelayedCalls()


def test_it_is_asked_once_an_interval_as_long_as_it_answers(watched: Watched, clock: Clock) -> None:
    assert not watched.session.questions
    for count in (1, 2, 3):
        clock.advance(20.0)
        assert len(watched.session.questions) == count
        clock.advance(0.5)
        watched.session.questions[-1].callback([(1,)])
    assert not watched.session.dropped


def test_while_an_answer_is_waited_for_nothing_more_is_asked(watched: Watched, clock: Clock) -> None:
    clock.pump([20.0, 20.0, 20.0])
    assert len(watched.session.questions) == 1
    watched.session.questions[0].callback([(1,)])
    clock.advance(20.0)
    assert len(watched.session.questions) == 2
    watched.session.questions[1].callback([(1,)])


def test_without_an_answer_in_time_it_is_dropped_once(watched: Watched, clock: Clock) -> None:
    clock.pump([20.0, 69.9])
    assert not watched.session.dropped
    clock.advance(0.1)
    assert watched.session.dropped == ["no sign of life within 70 s"]
    clock.advance(100.0)
    assert len(watched.session.dropped) == 1


def test_nothing_is_asked_of_a_session_that_is_known_to_be_down(watched: Watched, clock: Clock) -> None:
    watched.session.lose()
    clock.pump([20.0] * 5)
    assert not watched.session.questions
    watched.session.return_()
    clock.advance(20.0)
    assert len(watched.session.questions) == 1
    watched.session.questions[0].callback([(1,)])


def test_a_session_that_is_lost_by_itself_is_not_dropped_as_well(watched: Watched, clock: Clock) -> None:
    clock.advance(20.0)
    watched.session.lose()
    watched.session.questions[0].errback(Unavailable("lost"))
    clock.advance(100.0)
    assert not watched.session.dropped
