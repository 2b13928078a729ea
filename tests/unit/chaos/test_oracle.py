"""The oracle of the chaos test, on histories made up for it: it finds each kind of wrong, and only that."""

from dataclasses import replace

import pytest

from tests.chaos.faults import ALL, Fault, Kind
from tests.chaos.load import Sent
from tests.chaos.oracle import History, Row, Verdict, judge
from tests.chaos.plan import SEND, WORK, Deed, Plan
from tests.chaos.record import Entry, Event, Outcome

ID, KEY = 7, 70
PATIENCE = 15.0
GOOD = Plan(KEY)


def execution(
    stage: str = WORK,
    at: float = 0.0,
    *,
    pid: int = 100,
    epoch: int = 1,
    outcome: Outcome | None = Outcome.DECIDED,
    acted: bool = True,
    clash: bool = False,
    key: int = KEY,
    message: int = ID,
) -> list[Entry]:
    """A worker that is at a message for a second; without an outcome it comes to no end."""
    entries = [Entry(Event.CLASH, message, stage, pid, epoch, at, "-")] if clash else []
    entries.append(Entry(Event.BEGIN, message, stage, pid, epoch, at, str(key)))
    if acted:
        entries.append(Entry(Event.ACT, message, stage, pid, epoch, at + 0.5, "-"))
    if outcome is not None:
        entries.append(Entry(Event.END, message, stage, pid, epoch, at + 1.0, outcome.value))
    return entries


def left(status: str, stage: str = SEND, plan: Plan = GOOD, **state: object) -> Row:
    return Row(ID, stage, status, plan.subject, state)


def verdict(
    *executions: list[Entry],
    faults: tuple[Fault, ...] = (),
    rows: tuple[Row, ...] = (),
    plan: Plan = GOOD,
    message: int | None = ID,
) -> Verdict:
    entries = sorted((entry for one in executions for entry in one), key=lambda entry: entry.at)
    return judge(History({plan.key: Sent(plan, message)}, entries, faults, rows, PATIENCE))


DONE_AT_SEND = execution(SEND, 20.0, pid=200, outcome=Outcome.DONE)


def kill(at: float, pid: int = 100) -> Fault:
    return Fault(Kind.WORKER_KILL, at, at, pid)


def test_a_message_that_was_done_at_each_stage_and_is_gone_is_finished() -> None:
    found = verdict(execution(), DONE_AT_SEND)
    assert (found.finished, found.executions, found.violations) == (1, 2, [])


@pytest.mark.parametrize(
    ("deed", "stage", "failure", "counted"),
    [(Deed.REFUSE, SEND, "permanent", "refused"), (Deed.CRASH, SEND, "crashed", "crashed")],
)
def test_a_message_that_is_to_fail_is_kept_as_failed(deed: Deed, stage: str, failure: str, counted: str) -> None:
    plan = Plan(KEY, stage, deed)
    found = verdict(execution(), plan=plan, rows=(left("failed", stage, plan, failure_class=failure),))
    assert (getattr(found, counted), found.violations) == (1, [])


def test_what_the_client_never_heard_of_and_nobody_saw_was_never_sent() -> None:
    found = verdict(message=None)
    assert (found.unsure, found.messages, found.violations) == (1, 0, [])


def test_what_the_client_never_heard_of_and_is_there_must_end_like_any_other() -> None:
    assert verdict(rows=(left("pending", WORK),), message=None).violations


# Each of these is a bug that a dispatcher could have


def test_a_message_that_is_gone_without_having_been_done_is_lost() -> None:
    found = verdict(execution())
    assert found.losses == 1
    assert "never done at send" in found.violations[0]


def test_a_message_that_is_gone_and_should_be_kept_is_lost() -> None:
    found = verdict(execution(), plan=Plan(KEY, SEND, Deed.REFUSE))
    assert found.losses == 1


def test_a_message_that_no_worker_ever_saw_is_lost() -> None:
    assert verdict().losses == 1


@pytest.mark.parametrize("status", ["pending", "running", "paused"])
def test_a_row_that_is_still_on_its_way_is_found(status: str) -> None:
    (violation,) = verdict(execution(), rows=(left(status),)).violations
    assert f"still {status}" in violation


def test_a_message_that_failed_although_nothing_was_wrong_with_it_is_found() -> None:
    assert verdict(execution(), rows=(left("failed", failure_class="permanent"),)).violations


def test_a_message_that_failed_at_another_stage_than_it_should_is_found() -> None:
    plan = Plan(KEY, SEND, Deed.REFUSE)
    assert verdict(rows=(left("failed", WORK, plan, failure_class="permanent"),), plan=plan).violations


def test_strikes_are_excused_by_as_many_faults() -> None:
    row = left("failed", WORK, failure_class="crashed", strikes=3)
    cuts = [execution(at=10.0 * n, pid=100 + n, outcome=None, acted=False) for n in range(3)]
    faults = tuple(kill(10.0 * n + 0.3, 100 + n) for n in range(3))
    found = verdict(*cuts, rows=(row,), faults=faults)
    assert (found.struck_out, found.violations) == (1, [])
    assert verdict(*cuts, rows=(row,), faults=faults[:2]).violations


def test_a_message_that_nobody_sent_is_found() -> None:
    assert "never sent" in verdict(execution(), DONE_AT_SEND, execution(at=30.0, key=71, message=8)).violations[0]
    stranger = Row(8, WORK, "failed", Plan(71).subject, {})
    assert "never sent" in verdict(execution(), DONE_AT_SEND, rows=(stranger,)).violations[0]


def test_a_message_that_is_there_twice_is_found() -> None:
    found = verdict(execution(), DONE_AT_SEND, execution(at=30.0, message=8), faults=(kill(0.7),))
    assert any("is there as" in violation for violation in found.violations)


def test_a_double_that_nothing_excuses_is_found() -> None:
    found = verdict(execution(), execution(at=5.0, pid=101), DONE_AT_SEND)
    assert (found.doubles, found.unexplained_doubles) == (1, 1)
    assert "was done again" in found.violations[0]


EXCUSES = [
    kill(0.7),
    Fault(Kind.WORKER_STOP, 0.7, 14.0, 100),
    Fault(Kind.DISPATCHER_KILL, 1.2, 1.2, 50),
    Fault(Kind.DISPATCHER_REPLACED, 1.2, 4.2),
    Fault(Kind.SERVER_KILL, 1.2, 3.2, 51),
    Fault(Kind.BACKEND_KILL, 1.2, 1.2, 52),
    Fault(Kind.BAD_CONFIG, 0.2, 4.0),
    Fault(Kind.CUT, 0.9, 0.9, None, "pepsi-stage-*"),
    Fault(Kind.BLACKHOLE, 0.9, 12.0, None, ALL),
    Fault(Kind.SESSION_END, 0.9, 0.9, 53, "pepsi-stage-work"),
    Fault(Kind.BLACKHOLE, -70.0, 0.9, None, "pepsi-dispatch: lock*"),
]


@pytest.mark.parametrize("fault", EXCUSES)
def test_a_double_is_excused_by_what_came_between_the_message_and_its_outcome(fault: Fault) -> None:
    found = verdict(execution(), execution(at=5.0, pid=101), DONE_AT_SEND, faults=(fault,))
    assert (found.doubles, found.unexplained_doubles, found.violations) == (1, 0, [])
    assert found.doubles_by_fault == {fault.kind.value: 1}


@pytest.mark.parametrize(
    "fault",
    [
        kill(0.7, pid=101),  # another worker
        kill(5.2),  # too late
        Fault(Kind.CUT, 0.9, 0.9, None, "pepsi-stage-send"),  # connections of another stage
        Fault(Kind.BLACKHOLE, -9.0, 0.9, None, "pepsi-dispatch: lock*"),  # too short for the dispatcher to give up
        Fault(Kind.WORKER_STOP, 0.7, 3.0, 100),  # too short to be taken for a hang
        Fault(Kind.BLACKHOLE, 0.9, 4.0, None, ALL),  # so is this
        Fault(Kind.DELAY, 0.9, 4.0, None, ALL),
        Fault(Kind.REFUSE, 0.9, 4.0),
        Fault(Kind.SESSION_END, 0.9, 0.9, 53, "pepsi-dispatch: lock and claims"),
        Fault(Kind.CUT, 0.9, 0.9, None, "pepsi-dispatch*"),
        Fault(Kind.DISPATCHER_STOP, 0.7, 3.0, 50),
        Fault(Kind.WAITING_KILL, 0.7, 0.7, 50),
        Fault(Kind.NOTIFY_STORM, 0.7, 0.7),
        Fault(Kind.RELOAD, 0.7, 0.7),
        Fault(Kind.CLOCK_STEP, 0.7, 0.7),
        Fault(Kind.SECOND, 0.7, 3.0),
        Fault(Kind.HELD_ROWS, 0.7, 3.0),
        Fault(Kind.SERVER_KILL, -60.0, -58.0, 51),  # long over
    ],
)
def test_a_double_is_not_excused_by_what_cannot_have_caused_it(fault: Fault) -> None:
    assert verdict(execution(), execution(at=5.0, pid=101), DONE_AT_SEND, faults=(fault,)).unexplained_doubles == 1


@pytest.mark.parametrize("fault", [kill(20.7, 200), Fault(Kind.SERVER_KILL, 20.9, 22.9, 51)])
def test_nothing_excuses_that_what_was_committed_on_the_disk_is_done_again(fault: Fault) -> None:
    again = execution(SEND, 25.0, pid=201, outcome=Outcome.DONE)
    assert verdict(execution(), DONE_AT_SEND, again, faults=(fault,)).unexplained_doubles == 1


def test_a_message_that_crashes_its_worker_excuses_its_companions_of_the_batch() -> None:
    crash = execution(at=1.5, message=8, key=71, acted=False, outcome=Outcome.CRASHES)
    plan = Plan(71, WORK, Deed.CRASH)
    history = History(
        {KEY: Sent(GOOD, ID), 71: Sent(plan, 8)},
        [*execution(), *crash, *execution(at=5.0, pid=101), *DONE_AT_SEND],
        (),
        [Row(8, WORK, "failed", plan.subject, {"failure_class": "crashed"})],
        PATIENCE,
    )
    found = judge(history)
    assert (found.doubles, found.violations) == (1, [])


def test_a_message_that_is_put_off_and_tried_again_is_no_double() -> None:
    plan = replace(GOOD, stage=WORK, deed=Deed.LATER)
    waits = execution(acted=False, outcome=Outcome.WAITS)
    found = verdict(waits, execution(at=5.0, pid=101), DONE_AT_SEND, plan=plan)
    assert (found.doubles, found.violations) == (0, [])


def test_a_worker_that_died_of_nothing_is_found() -> None:
    cut = execution(outcome=None, acted=False)
    found = verdict(cut, execution(at=5.0, pid=101), DONE_AT_SEND)
    assert found.cut == 1
    assert "came to no end" in found.violations[0]
    assert not verdict(cut, execution(at=5.0, pid=101), DONE_AT_SEND, faults=(kill(0.2),)).violations


def test_two_workers_at_a_message_at_once_are_found_by_their_times() -> None:
    found = verdict(execution(), execution(at=0.5, pid=101), DONE_AT_SEND, faults=(Fault(Kind.SERVER_KILL, 0.4, 2.4),))
    assert found.overlaps == 1
    assert any("while" in violation for violation in found.violations)


def test_two_workers_at_a_message_at_once_are_found_by_the_lock() -> None:
    cut = execution(outcome=None, acted=False)
    second = execution(at=0.5, pid=101, clash=True)
    assert verdict(cut, second, DONE_AT_SEND, faults=(Fault(Kind.WORKER_STOP, 0.2, 9.0, 100),)).overlaps == 1


def test_a_worker_that_was_killed_is_at_its_message_until_then_and_no_longer() -> None:
    cut = execution(outcome=None, acted=False)
    assert verdict(cut, execution(at=0.5, pid=101), DONE_AT_SEND, faults=(kill(0.4),)).overlaps == 0
    assert verdict(cut, execution(at=0.5, pid=101), DONE_AT_SEND, faults=(kill(0.6),)).overlaps == 1


def test_a_worker_of_a_dispatcher_that_was_killed_may_meet_one_of_the_next() -> None:
    second = execution(at=0.5, pid=101, epoch=2, clash=True)
    killed = Fault(Kind.DISPATCHER_KILL, 0.2, 0.2, 50)
    found = verdict(execution(), second, DONE_AT_SEND, faults=(killed,))
    assert (found.overlaps, found.overlaps_of_two_dispatchers, found.violations) == (0, 1, [])
    assert verdict(execution(), second, DONE_AT_SEND).overlaps == 1


def test_a_record_that_makes_no_sense_is_found() -> None:
    lone = [Entry(Event.ACT, ID, WORK, 300, 1, 3.0, "-")]
    assert "makes no sense" in verdict(execution(), DONE_AT_SEND, lone).violations[0]
