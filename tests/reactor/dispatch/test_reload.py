"""A change of the configuration, on a clock and with a session that answers what the test says."""

from typing import Any, cast

import pytest
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from pepsi.config.load import Config, load_text
from pepsi.db.faults import Fault
from pepsi.db.overlay import Overlay
from pepsi.db.statement import Statement
from pepsi.dispatch.reload import SPACING, Reload, Wanted
from pepsi.errors import EX_CONFIG
from pepsi.reactor.session import Refused, Unavailable
from pepsi.sched.events import ConfigChanged, Event, WorkersOutdated
from tests.fakes_dispatch import FakeSession

FILE = """\
[pepsi-postgres]
DSN = embedded
[pepsi-dispatch]
{dispatch}
[pepsi-ingress]
ENTRY_STAGE = a
[stage-a]
PROGRAM = one
"""


class Desk:
    def __init__(self) -> None:
        self.clock = Clock()
        self.file = FILE.format(dispatch="")
        self.rows: list[tuple[str, str, str]] = []
        self.strangers: list[tuple[str, int]] = []
        self.error: Exception | None = None
        self.read = 0
        self.heard: list[Event] = []
        self.broken: list[tuple[str, int]] = []
        self.session = FakeSession(self._answer)
        self.reload = Reload(
            cast(Any, self.clock),
            cast(Any, self.session),
            self._read,
            load_text(self.file),
            (),
            self.heard.append,
            lambda why, status: self.broken.append((why, status)),
            chance=lambda: 0.0,
        )

    def _answer(self, statement: Statement) -> list[tuple[Any, ...]]:
        if "config_override" in statement.text:
            if self.error is not None:
                raise self.error
            return list(self.rows)
        return list(self.strangers)

    def _read(self, overlay: Overlay) -> Config:
        self.read += 1
        return load_text(self.file, overlay=overlay)

    def want(self, what: Wanted, times: int = 1) -> list[str]:
        """Want *what* so many times, and return what is logged."""
        with capturedLogs() as logged:
            for _ in range(times):
                self.reload.want(what)
        return [formatEvent(entry) for entry in logged]

    @property
    def changes(self) -> list[ConfigChanged]:
        return [event for event in self.heard if isinstance(event, ConfigChanged)]


def test_the_engine_gets_the_stages_of_file_and_database_and_the_log_what_is_different() -> None:
    desk = Desk()
    desk.rows = [("stage-a", "PARALLELISM", "7"), ("stage-new", "PROGRAM", "two")]
    said = desk.want(Wanted.RELOAD)
    (change,) = desk.changes
    assert change.specs["a"].parallelism == 7
    assert change.specs["new"].program == "two"
    assert "configuration: [stage-a] PARALLELISM: (not set) -> 7" in said
    assert "configuration: [stage-new] is new" in said
    assert "configuration read again, 2 changes; every worker is replaced" in said


def test_the_file_is_read_anew_each_time_and_compared_with_what_was_read_last() -> None:
    desk = Desk()
    desk.file += "[stage-b]\nPROGRAM = two\n"
    assert "configuration: [stage-b] is new" in desk.want(Wanted.RELOAD)
    desk.clock.advance(SPACING)
    assert desk.want(Wanted.RELOAD) == ["configuration read again, nothing has changed; every worker is replaced"]
    assert len(desk.changes) == 2


def test_a_storm_of_notifications_is_two_reloads_and_the_last_one_has_all() -> None:
    desk = Desk()
    desk.want(Wanted.RELOAD, 500)
    desk.rows = [("stage-a", "PARALLELISM", "7")]
    desk.want(Wanted.RELOAD, 500)
    desk.clock.advance(SPACING)
    desk.clock.advance(SPACING)
    assert [change.specs["a"].parallelism for change in desk.changes] == [4, 7]
    assert not desk.clock.getDelayedCalls()


def test_after_a_reconnect_only_a_database_that_says_something_else_is_a_reason() -> None:
    desk = Desk()
    desk.want(Wanted.COMPARE)
    assert not desk.heard
    desk.clock.advance(SPACING)
    desk.rows = [("stage-a", "QUEUE_LIMIT", "1")]
    desk.want(Wanted.COMPARE)
    assert [change.specs["a"].queue_limit for change in desk.changes] == [1]
    desk.clock.advance(SPACING)
    desk.want(Wanted.COMPARE)
    assert len(desk.changes) == 1


def test_telemetry_replaces_workers_and_reads_nothing() -> None:
    desk = Desk()
    desk.want(Wanted.RENEW)
    assert desk.heard == [WorkersOutdated()]
    assert not desk.session.ran
    desk.want(Wanted.RENEW)
    desk.want(Wanted.COMPARE)
    desk.clock.advance(SPACING)
    assert desk.heard == [WorkersOutdated()] * 2


@pytest.mark.parametrize("error", [Refused("permission denied", Fault.OTHER), Unavailable("no database")])
def test_what_cannot_be_read_is_no_new_configuration_and_is_tried_again(error: Exception) -> None:
    desk = Desk()
    desk.error = error
    said = desk.want(Wanted.RELOAD)
    assert "the present one stays" in said[0]
    with capturedLogs() as logged:
        for _ in range(300):
            desk.clock.advance(1.0)
    assert not logged, "it is said once"
    assert 30 <= len(desk.session.ran) < 40
    assert not desk.heard
    assert not desk.broken
    desk.error, desk.rows = None, [("stage-a", "PARALLELISM", "7")]
    desk.clock.advance(10.0)
    assert [change.specs["a"].parallelism for change in desk.changes] == [7]


def test_one_that_is_wrong_ends_the_dispatcher_with_78_and_every_error_is_named() -> None:
    desk = Desk()
    desk.rows = [("stage-a", "NEXT_STAGE", "nowhere"), ("stage-a", "PARALLELISM", "many")]
    desk.want(Wanted.RELOAD)
    ((why, status),) = desk.broken
    assert status == EX_CONFIG
    assert "nowhere" in why
    assert "many" in why
    assert not desk.heard
    desk.want(Wanted.RELOAD)
    desk.clock.advance(10.0)
    assert desk.read == 1


def test_what_is_read_at_the_start_only_is_told_to_wait_for_a_restart() -> None:
    desk = Desk()
    desk.file = FILE.format(dispatch="POLL_INTERVAL = 90 s").replace("embedded", "host=/other")
    said = desk.want(Wanted.RELOAD)
    late = [line for line in said if "this waits for a restart" in line]
    assert [line.split(";")[0] for line in late] == [
        "configuration: [pepsi-postgres] DSN: (not shown) -> (not shown)",
        "configuration: [pepsi-dispatch] POLL_INTERVAL: 30 s -> 90 s",
    ]
    assert "configuration read again, nothing has changed; every worker is replaced" in said


def test_the_time_limit_of_all_stages_is_taken_over_as_it_is_by_the_workers() -> None:
    desk = Desk()
    desk.file = FILE.format(dispatch="MAX_RUNTIME = 7 s")
    said = desk.want(Wanted.RELOAD)
    assert "configuration: [pepsi-dispatch] MAX_RUNTIME: 5 min -> 7 s" in said
    assert desk.changes[0].specs["a"].max_runtime == 7.0


def test_mail_at_unknown_stages_is_told_once_a_reload() -> None:
    desk = Desk()
    desk.strangers = [("gone", 3)]
    said = desk.want(Wanted.RELOAD)
    assert "3 messages wait at 'gone', which has no section [stage-gone]" in said


def test_new_warnings_are_told() -> None:
    desk = Desk()
    desk.rows = [("pepsi-ingress", "LISTEN", "tcp:25")]
    assert any("only sections of stages can be overridden" in line for line in desk.want(Wanted.RELOAD))
    desk.clock.advance(SPACING)
    assert not any("only sections of stages" in line for line in desk.want(Wanted.RELOAD))


def test_a_huge_difference_does_not_flood_the_log() -> None:
    desk = Desk()
    desk.rows = [("stage-a", f"KEY_{number}", "x") for number in range(1000)]
    said = desk.want(Wanted.RELOAD)
    assert len(said) < 210
    assert "configuration: and 800 more changes" in said


def test_when_stopped_nothing_more_is_done() -> None:
    desk = Desk()
    desk.want(Wanted.RELOAD)
    desk.want(Wanted.RELOAD)
    desk.reload.stop()
    desk.want(Wanted.RELOAD)
    desk.clock.advance(10.0)
    assert len(desk.changes) == 1
    assert not desk.clock.getDelayedCalls()


def test_a_fault_of_our_own_ends_the_dispatcher() -> None:
    desk = Desk()
    desk.error = RuntimeError("a fault")
    with capturedLogs():
        desk.want(Wanted.RELOAD)
    assert desk.broken == [("the configuration cannot be taken over", 1)]
