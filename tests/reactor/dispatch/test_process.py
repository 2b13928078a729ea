"""A worker's pipes: what is heard, in which order, and when the worker is really over."""

from typing import Any

import pytest
from twisted.internet.interfaces import IProcessProtocol
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from zope.interface.verify import verifyObject

from pepsi.dispatch.process import LINGER, WorkerProcess
from pepsi.model.status import Fused, Status
from pepsi.sched.events import Answered, Event, Garbled, WorkerGone, WorkerReady
from pepsi.wire.status import LINE_LIMIT
from tests.fakes_dispatch import STDERR, STDIN, STDOUT, FakeProcess

CONVERSATION = b'ready\n0\n0 [["srs",120]]\n75\n5 no such user\n'
EVENTS = [
    WorkerReady(7),
    Status(code=0),
    Status(code=0, report=(Fused("srs", 120),)),
    Status(code=75),
    Status(code=5, reason="no such user"),
]


class Worker:
    """A worker process number 7 of a stage a, on a clock; *heard* is what it reported."""

    def __init__(self, clock: Clock, pid: int) -> None:
        self.heard: list[Event] = []
        self.protocol = WorkerProcess(clock, 7, "a", self.heard.append)
        self.process = FakeProcess(clock, self.protocol, pid)

    @property
    def said(self) -> list[Any]:
        """What was heard, the answers one by one."""
        flat: list[Any] = []
        for event in self.heard:
            flat += event.statuses if isinstance(event, Answered) else [event]
        return flat


@pytest.fixture
def worker(clock: Clock, bystander: int) -> Worker:
    return Worker(clock, bystander)


def test_it_is_a_process_protocol(worker: Worker) -> None:
    assert verifyObject(IProcessProtocol, worker.protocol)


# What it says


def test_ready_and_answers_become_events_and_the_answers_of_one_read_are_one_event(worker: Worker) -> None:
    worker.process.say(CONVERSATION)
    assert worker.heard == [WorkerReady(7), Answered(7, tuple(EVENTS[1:]))]  # type: ignore[arg-type]
    worker.process.say(b"0\n")
    assert worker.heard[2:] == [Answered(7, (Status(code=0),))]


def test_a_worker_may_say_that_it_works_in_batches(worker: Worker) -> None:
    worker.process.say(b"ready batch\n")
    assert worker.heard == [WorkerReady(7, batch=True)]


@pytest.mark.parametrize("at", range(1, len(CONVERSATION)))
def test_it_does_not_matter_where_a_read_ends(worker: Worker, at: int) -> None:
    worker.process.say(CONVERSATION[:at])
    worker.process.say(CONVERSATION[at:])
    assert worker.said == EVENTS


def test_it_may_come_byte_by_byte(worker: Worker) -> None:
    for byte in CONVERSATION:
        worker.process.say(bytes([byte]))
    assert worker.said == EVENTS


def test_a_line_may_be_64_kib_long_and_not_a_byte_more(clock: Clock, bystander: int) -> None:
    for extra in (0, 1):
        worker = Worker(clock, bystander)
        worker.process.say(b"ready\n" + b"5 " + b"x" * (LINE_LIMIT - 2 + extra) + b"\n")
        last = worker.said[-1]
        assert isinstance(last, Garbled) if extra else last.code == 5


def test_an_endless_line_is_given_up_before_it_fills_the_memory(worker: Worker) -> None:
    worker.process.say(b"ready\n")
    for _ in range(LINE_LIMIT // 4096 + 1):
        worker.process.say(b"x" * 4096)
    assert [type(event) for event in worker.heard] == [WorkerReady, Garbled]


@pytest.mark.parametrize("nonsense", [b"0\n", b"Traceback\n", b"READY\n", b"ready \n", b"\n", b"ready\r\n"])
def test_anything_but_ready_comes_first_is_garbled(worker: Worker, nonsense: bytes) -> None:
    worker.process.say(nonsense)
    assert [type(event) for event in worker.heard] == [Garbled]


def test_answers_before_a_bad_line_count_and_nothing_after_it_is_heard(worker: Worker) -> None:
    worker.process.say(b"ready\n0\nwhat?\n0\n")
    worker.process.say(b"0\n")
    assert worker.heard[:2] == [WorkerReady(7), Answered(7, (Status(code=0),))]
    assert [type(event) for event in worker.heard[2:]] == [Garbled]
    worker.process.die(signal=9)
    assert worker.heard[3:] == [WorkerGone(worker=7, signal=9)]


def test_half_a_line_at_the_end_is_no_answer(worker: Worker) -> None:
    worker.process.say(b"ready\n0")
    worker.process.die(code=0)
    assert worker.heard == [WorkerReady(7), WorkerGone(worker=7, code=0)]


def test_what_it_complains_of_is_logged_under_its_stage_and_never_taken_for_an_answer(worker: Worker) -> None:
    with capturedLogs() as logged:
        worker.process.complain(b"0\nwarn")
        worker.process.complain(b"ing {x}\n")
        worker.process.complain(b"unfinished")
        worker.process.die(code=0)
    lines = [(entry["stage"], entry["line"]) for entry in logged if "line" in entry]
    assert lines == [("a", "0"), ("a", "warning {x}"), ("a", "unfinished")]
    assert worker.heard == [WorkerGone(worker=7, code=0)]


# How it ends


@pytest.mark.parametrize(
    ("how", "gone"),
    [
        ({}, WorkerGone(worker=7, code=0)),
        ({"code": 3}, WorkerGone(worker=7, code=3)),
        ({"signal": 9}, WorkerGone(worker=7, signal=9)),
    ],
)
def test_an_end_is_told_once_with_its_status_or_its_signal(
    worker: Worker, clock: Clock, how: dict[str, int], gone: WorkerGone
) -> None:
    worker.process.die(**how)
    clock.advance(2 * LINGER)
    assert worker.heard == [gone]
    assert not clock.getDelayedCalls()


def test_what_is_read_after_the_exit_is_heard_before_the_end(worker: Worker) -> None:
    worker.process.say(b"ready\n")
    worker.process.exit(code=0)
    worker.process.close(STDIN)
    worker.process.say(b"0\n")
    assert worker.heard == [WorkerReady(7), Answered(7, (Status(code=0),))]
    worker.process.close(STDOUT)
    assert worker.heard[2:] == [WorkerGone(worker=7, code=0)]


def test_a_pipe_that_closed_before_the_exit_is_not_waited_for(worker: Worker) -> None:
    worker.process.close(STDIN, STDOUT)
    worker.process.exit(code=0)
    assert worker.heard == [WorkerGone(worker=7, code=0)]


def test_a_grandchild_that_holds_the_pipe_keeps_no_slot_for_longer_than_two_seconds(
    worker: Worker, clock: Clock
) -> None:
    worker.process.say(b"ready\n")
    worker.process.exit(code=1)
    worker.process.close(STDIN)
    clock.advance(LINGER - 0.1)
    worker.process.say(b"0\n")
    assert worker.heard[1:] == [Answered(7, (Status(code=0),))]
    clock.advance(0.1)
    assert worker.heard[2:] == [WorkerGone(worker=7, code=1)]
    worker.process.say(b"0\n")
    clock.advance(0)
    assert len(worker.heard) == 3
    assert not worker.process.open
    assert not clock.getDelayedCalls()


def test_a_grandchild_that_holds_only_standard_error_delays_nothing(worker: Worker) -> None:
    worker.process.exit(code=1)
    worker.process.close(STDIN, STDOUT)
    assert worker.heard == [WorkerGone(worker=7, code=1)]


# Half closed


@pytest.mark.parametrize(("descriptor", "name"), [(STDIN, "input"), (STDOUT, "output")])
def test_a_worker_that_closes_a_pipe_and_lives_on_cannot_be_worked_with(
    worker: Worker, clock: Clock, descriptor: int, name: str
) -> None:
    worker.process.say(b"ready\n")
    worker.process.close(descriptor)
    clock.advance(LINGER - 0.1)
    assert worker.heard == [WorkerReady(7)]
    clock.advance(0.1)
    assert worker.heard[1:] == [Garbled(7, f"it closed its standard {name}")]
    worker.process.die(signal=9)
    assert worker.heard[2:] == [WorkerGone(worker=7, signal=9)]
    clock.advance(LINGER)
    assert len(worker.heard) == 3


def test_pipes_that_close_shortly_before_the_exit_are_an_ordinary_end(worker: Worker, clock: Clock) -> None:
    worker.process.close(STDIN, STDOUT, STDERR)
    clock.advance(LINGER / 2)
    worker.process.exit(code=0)
    clock.advance(2 * LINGER)
    assert worker.heard == [WorkerGone(worker=7, code=0)]


def test_standard_error_may_be_closed(worker: Worker, clock: Clock) -> None:
    worker.process.close(STDERR)
    clock.advance(10 * LINGER)
    assert not worker.heard


def test_a_retired_worker_may_close_its_pipes_and_take_its_time(worker: Worker, clock: Clock) -> None:
    worker.process.say(b"ready\n")
    worker.protocol.retire()
    clock.advance(0)
    assert STDIN not in worker.process.open
    worker.process.close(STDOUT)
    clock.advance(10 * LINGER)
    worker.process.exit(code=0)
    assert worker.heard == [WorkerReady(7), WorkerGone(worker=7, code=0)]


# What is done to it


def test_ids_are_written_in_one_write(worker: Worker) -> None:
    worker.protocol.hand((1, 22, 333))
    assert worker.process.written == [b"1\n22\n333\n"]


def test_ids_for_a_worker_that_has_closed_its_input_go_nowhere(worker: Worker) -> None:
    worker.process.close(STDIN)
    worker.protocol.hand((1,))
    assert worker.process.written == []


def test_it_is_told_to_end_by_sigterm_and_killed_by_sigkill(worker: Worker) -> None:
    worker.protocol.terminate()
    worker.protocol.kill()
    assert worker.process.signals == ["TERM", "KILL"]


def test_what_is_done_to_a_dead_worker_is_no_error(worker: Worker) -> None:
    worker.process.exit(code=0)
    worker.protocol.hand((1,))
    worker.protocol.terminate()
    worker.protocol.kill()
    worker.protocol.retire()
    worker.process.close(STDIN, STDOUT, STDERR)
    assert worker.heard == [WorkerGone(worker=7, code=0)]
