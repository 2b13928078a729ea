"""Judges a chaos run by what was sent, what the workers wrote down, what was done to them, and what is left.

It knows nothing of how Pepsi works inside. It is pure, and tested on histories made up for it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from typing import Any

from tests.chaos.faults import Fault, Kind
from tests.chaos.load import Sent
from tests.chaos.plan import RECORDED, Ending
from tests.chaos.record import Entry, Event, Outcome

MAX_STRIKES = 3
_STRIKING = frozenset(Kind) - {Kind.NOTIFY_STORM, Kind.RELOAD, Kind.CLOCK_STEP, Kind.SECOND, Kind.WAITING_KILL}


@dataclass(frozen=True, slots=True)
class Row:
    """A row that is left in the queue."""

    message: int
    stage: str
    status: str
    subject: str
    state: Mapping[str, Any]


@dataclass(slots=True)
class Execution:
    """One time that a worker was at a message. *end* is None if it never came to one."""

    message: int
    key: int
    stage: str
    pid: int
    epoch: int
    begin: float
    acted: bool = False
    end: float | None = None
    outcome: Outcome | None = None
    clashed: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """All that the oracle looks at. *patience*: seconds that a stage has for a message and its outcome."""

    sent: Mapping[int, Sent]
    entries: Sequence[Entry]
    faults: Sequence[Fault]
    rows: Sequence[Row]
    patience: float


@dataclass(slots=True)
class Verdict:
    """What became of the messages. *violations* are sentences; there must be none."""

    messages: int = 0
    unsure: int = 0
    """Of which the client never heard, and which are not there: they count as never sent."""
    finished: int = 0
    refused: int = 0
    crashed: int = 0
    struck_out: int = 0
    """Failed by three strikes that faults account for."""
    executions: int = 0
    cut: int = 0
    """Executions that came to no end."""
    losses: int = 0
    doubles: int = 0
    doubles_by_fault: Counter[str] = field(default_factory=Counter)
    unexplained_doubles: int = 0
    overlaps: int = 0
    """Two live workers at one message under one dispatcher."""
    overlaps_of_two_dispatchers: int = 0
    """The former of which was killed."""
    violations: list[str] = field(default_factory=list)


def judge(history: History) -> Verdict:
    """Return the verdict on *history*."""
    verdict = Verdict()
    executions = _executions(history.entries, verdict)
    history = replace(history, faults=[*history.faults, *_crashes(executions)])
    verdict.executions = len(executions)
    by_key: dict[int, list[Execution]] = defaultdict(list)
    for execution in executions:
        by_key[execution.key].append(execution)
    rows: dict[int, Row] = {}
    for row in history.rows:
        key = _key_of(row)
        if key in rows or key not in history.sent:
            verdict.violations.append(f"message {row.message} was never sent: {row.subject!r}")
        else:
            rows[key] = row
    for key in by_key.keys() - history.sent.keys():
        verdict.violations.append(f"workers were at a message of key {key}, which was never sent")
    for key, sent in history.sent.items():
        if sent.message is None and key not in by_key and key not in rows:
            verdict.unsure += 1
            continue
        verdict.messages += 1
        runs = by_key.get(key, [])
        _see_ending(history, verdict, sent, rows.get(key), runs)
        _see_identity(verdict, sent, rows.get(key), runs)
        for stage in RECORDED:
            _see_doubles(history, verdict, [run for run in runs if run.stage == stage])
    _see_overlaps(history, verdict, executions)
    return verdict


def _executions(entries: Iterable[Entry], verdict: Verdict) -> list[Execution]:
    """Put the entries together. One worker does one message at a time."""
    done: list[Execution] = []
    at_work: dict[int, Execution] = {}
    clash: set[int] = set()
    for entry in entries:
        if entry.event is Event.CLASH:
            clash.add(entry.pid)
            continue
        if entry.event is Event.BEGIN:
            execution = Execution(entry.message, int(entry.word), entry.stage, entry.pid, entry.epoch, entry.at)
            execution.clashed = entry.pid in clash
            clash.discard(entry.pid)
            at_work[entry.pid] = execution
            done.append(execution)
            continue
        found = at_work.get(entry.pid)
        if found is None or found.message != entry.message or found.end is not None:
            verdict.violations.append(f"the record makes no sense: {entry}")
        elif entry.event is Event.ACT:
            found.acted = True
        else:
            found.end, found.outcome = entry.at, Outcome(entry.word)
    return done


def _crashes(executions: Iterable[Execution]) -> Iterator[Fault]:
    """Yield what messages did to their workers, and so to others of the same batch."""
    for run in executions:
        if run.outcome is Outcome.CRASHES and run.end is not None:
            yield Fault(Kind.CRASH, run.end, run.end, run.pid)


def _key_of(row: Row) -> int:
    key = row.subject.split(" ")[0]
    return int(key) if key.isdigit() else -1


def _see_identity(verdict: Verdict, sent: Sent, row: Row | None, runs: Sequence[Execution]) -> None:
    ids = {run.message for run in runs} | ({row.message} if row else set()) | ({sent.message} - {None})
    if len(ids) > 1:
        verdict.violations.append(f"the message of key {sent.plan.key} is there as {sorted(map(str, ids))}")


def _see_ending(history: History, verdict: Verdict, sent: Sent, row: Row | None, runs: Sequence[Execution]) -> None:
    planned = sent.plan
    name = f"message {sent.message} ({planned.subject})"
    if row is not None and row.status in ("pending", "running", "paused"):
        verdict.violations.append(f"{name} is still {row.status} at {row.stage}")
        return
    missing = set(planned.acts_at) - {run.stage for run in runs if run.acted}
    if row is None:
        if planned.ending is not Ending.FINISHED:
            verdict.losses += 1
            verdict.violations.append(f"{name} is gone, and should be kept as {planned.ending.value}")
        elif missing:
            verdict.losses += 1
            verdict.violations.append(f"{name} is gone, and was never done at {', '.join(sorted(missing))}")
        else:
            verdict.finished += 1
        return
    failure = row.state.get("failure_class")
    if planned.ending is Ending.REFUSED and failure == "permanent" and row.stage == planned.stage and not missing:
        verdict.refused += 1
    elif planned.ending is Ending.CRASHED and failure == "crashed" and row.stage == planned.stage and not missing:
        verdict.crashed += 1
    elif failure in ("crashed", "timed-out") and _struck_out(history, row, runs):
        verdict.struck_out += 1
    else:
        verdict.violations.append(
            f"{name} ended as {row.status} at {row.stage} ({failure}: {row.state.get('last_error')})"
        )


def _struck_out(history: History, row: Row, runs: Sequence[Execution]) -> bool:
    """Whether faults account for as many strikes as it takes.

    A worker can be killed while it loads the message, before it has written anything down: so a strike without an
    execution is excused by a fault of the whole stage.
    """
    begun = min((run.begin for run in runs), default=0.0)
    hits = sum(fault.kind in _STRIKING and fault.end >= begun for fault in history.faults)
    return row.state.get("strikes") == MAX_STRIKES and hits >= MAX_STRIKES


def _see_doubles(history: History, verdict: Verdict, runs: Sequence[Execution]) -> None:
    runs = sorted(runs, key=lambda run: run.begin)
    for run, following in zip_longest(runs, runs[1:]):
        if run.end is None:
            verdict.cut += 1
            if _excuse(history, run, following) is None:
                verdict.violations.append(f"{_named(run)} came to no end, and nothing was done to it")
    acted = [run for run in runs if run.acted]
    for run, following in pairwise(acted):
        verdict.doubles += 1
        fault = _excuse(history, run, following)
        if fault is None:
            verdict.unexplained_doubles += 1
            verdict.violations.append(f"{_named(run)} was done again by {_named(following)}, and nothing excuses that")
        else:
            verdict.doubles_by_fault[fault.kind.value] += 1


def _excuse(history: History, run: Execution, following: Execution | None) -> Fault | None:
    """Return the fault that kept the outcome of *run* from lasting."""
    if run.outcome is Outcome.DONE:
        return None
    # What was decided is written at once, or as soon as the database takes it, within what the stage may take.
    until = run.begin + history.patience
    if following is not None:
        until = min(until, following.begin)
    own = (fault for fault in history.faults if fault.excuses(run.stage, run.pid, run.begin, until))
    # The one that hit this very worker says most.
    return min(own, key=lambda fault: (fault.pid != run.pid, abs(fault.begin - run.begin)), default=None)


def _see_overlaps(history: History, verdict: Verdict, executions: Sequence[Execution]) -> None:
    by_message: dict[int, list[Execution]] = defaultdict(list)
    for execution in executions:
        by_message[execution.message].append(execution)
    for runs in by_message.values():
        for earlier, later in pairwise(runs):
            # Of one that was cut short by others than us nobody knows when it died, but the lock does.
            end = earlier.end if earlier.end is not None else _death(history, earlier)
            if not later.clashed and (end is None or later.begin >= end or earlier.pid == later.pid):
                continue
            if earlier.epoch == later.epoch:
                verdict.overlaps += 1
                verdict.violations.append(f"{_named(later)} began while {_named(earlier)} was at it")
            elif _replaced(history, earlier, later):
                verdict.overlaps_of_two_dispatchers += 1
            else:
                verdict.overlaps += 1
                verdict.violations.append(f"{_named(later)} began under another dispatcher, which nothing excuses")


def _death(history: History, run: Execution) -> float | None:
    """Return when we killed the worker of *run*; None if we did not."""
    kills = (fault.begin for fault in history.faults if fault.kind is Kind.WORKER_KILL and fault.pid == run.pid)
    return min((kill for kill in kills if kill >= run.begin), default=None)


def _replaced(history: History, earlier: Execution, later: Execution) -> bool:
    kinds = (Kind.DISPATCHER_KILL, Kind.SERVER_KILL, Kind.BACKEND_KILL, Kind.SESSION_END, Kind.CUT, Kind.BLACKHOLE)
    return any(fault.kind in kinds and earlier.begin <= fault.begin <= later.begin for fault in history.faults)


def _named(run: Execution) -> str:
    outcome = run.outcome.value if run.outcome else "no end"
    return (
        f"message {run.message} at {run.stage} by {run.pid} of epoch {run.epoch} "
        f"({run.begin:.3f} to {run.end or 0.0:.3f}, {outcome})"
    )
