"""Services that lean on one another: the last that came goes first, and nobody goes before it has."""

from twisted.application.service import Service
from twisted.internet.defer import Deferred, ensureDeferred, fail

from pepsi.reactor.chain import Chain, each_of


class Link(Service):
    """A service that takes its time to stop."""

    def __init__(self, name: str, story: list[str]) -> None:
        self.setName(name)
        self.story = story
        self.stopped: Deferred[None] = Deferred()

    def startService(self) -> None:
        super().startService()
        self.story.append(f"start {self.name}")

    def stopService(self) -> "Deferred[None]":
        self.story.append(f"stop {self.name}")
        return self.stopped


def chain() -> tuple[Chain, list[Link], list[str]]:
    story: list[str] = []
    links = [Link("database", story), Link("session", story), Link("door", story)]
    made = Chain()
    for link in links:
        link.setServiceParent(made)
    made.startService()
    return made, links, story


def test_each_is_stopped_when_the_one_that_leans_on_it_has_ended():
    made, (database, session, door), story = chain()
    ended: list[None] = []
    made.stopService().addCallback(ended.append)
    assert story == ["start database", "start session", "start door", "stop door"]
    door.stopped.callback(None)
    assert story[-1] == "stop session"
    session.stopped.callback(None)
    assert (story[-1], ended) == ("stop database", [])
    database.stopped.callback(None)
    assert ended == [None]


def test_one_that_fails_to_stop_keeps_none_from_stopping():
    made, (database, session, door), story = chain()
    ended: list[None] = []
    made.stopService().addCallback(ended.append)
    door.stopped.errback(ValueError("first"))
    session.stopped.errback(ValueError("second"))
    database.stopped.callback(None)
    assert story[-3:] == ["stop door", "stop session", "stop database"]
    assert ended == [None]


def test_a_chain_of_nothing_ends_at_once():
    ended: list[None] = []
    Chain().stopService().addCallback(ended.append)
    assert ended == [None]


def test_a_step_that_raises_keeps_no_step_from_being_taken():
    story: list[str] = []
    ended: list[None] = []

    def broken() -> None:
        story.append("broken")
        raise FileNotFoundError("gone")

    ensureDeferred(each_of(broken, lambda: fail(ValueError()), lambda: story.append("last"))).addCallback(ended.append)
    assert (story, ended) == (["broken", "last"], [None])
