"""What a look at the table shows goes to the log; without a database there is nothing to see."""

from typing import Any, cast

from twisted.internet import defer
from twisted.logger import LogLevel, capturedLogs

from pepsi.db.faults import Fault
from pepsi.db.statement import Statement
from pepsi.dispatch.watch import Watch
from pepsi.reactor.session import Refused, Unavailable
from tests.fakes_dispatch import FakeSession

HOLDER = (60_000, 10, "session", "77", "pg_dump", "backup", 1000.0, 5000)


def look(answer: list[tuple[Any, ...]] | Exception) -> tuple[Watch, list[Any]]:
    """Look once at what *answer* says, and return what was logged."""

    def answered(statement: Statement) -> list[tuple[Any, ...]]:
        if isinstance(answer, Exception):
            raise answer
        return answer

    watch = Watch(cast(Any, FakeSession(answered)), lambda: 5.0)
    with capturedLogs() as logged:
        done = defer.ensureDeferred(watch.look())
        done.addErrback(lambda failure: failure.raiseException())
        assert done.called
    return watch, logged


def test_what_hurts_is_logged_as_a_warning_with_its_facts() -> None:
    watch, (entry,) = look([HOLDER])
    assert entry["log_level"] is LogLevel.warn
    assert entry["dead"] == 60_000
    assert "server process 77" in entry["holder"]
    assert watch.seen is not None
    assert watch.seen.holder is not None


def test_a_table_in_order_is_not_talked_of() -> None:
    watch, logged = look([(5, 10, None, None, None, None, None, None)])
    assert not logged
    assert watch.seen is not None
    assert watch.seen.dead == 5


def test_without_a_database_nothing_is_seen_and_nothing_said() -> None:
    watch, logged = look(Unavailable("no database"))
    assert not logged
    assert watch.seen is None


def test_a_look_that_is_refused_is_told() -> None:
    _, (entry,) = look(Refused("permission denied", Fault.OTHER))
    assert entry["why"] == "permission denied"
