"""Every metric that the dispatcher has, each declared once. docs/metrics.md explains them, and a test compares the two.

A label's value is the name of a stage, a state or a reason: there are few of each, and none comes from mail.
"""

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pepsi import __version__
from pepsi.sched.gauges import StageGauges
from pepsi.sched.meters import Histogram
from pepsi.sched.reading import Reading

Values = Iterable[tuple[tuple[str, ...], float]]
"""The values of the labels, and the value; for each child of a metric."""


class Kind(enum.StrEnum):
    """How Prometheus reads a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric with numbers for values. *name* is without the ``_total`` that counters end in."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    values: Callable[[Reading], Values]


@dataclass(frozen=True, slots=True)
class Distribution:
    """One metric that is a histogram."""

    name: str
    help: str
    histogram: Callable[[Reading], Histogram]
    kind: str = field(default="histogram", init=False)
    labels: tuple[str, ...] = field(default=(), init=False)


def _whole(name: str, kind: Kind, text: str, value: Callable[[Reading], float | None]) -> Metric:
    """Declare a metric without labels. Without a value it is not shown."""

    def values(reading: Reading) -> Values:
        found = value(reading)
        return [] if found is None else [((), float(found))]

    return Metric(name, kind, text, (), values)


def _engine(name: str, kind: Kind, text: str, attribute: str) -> Metric:
    return _whole(name, kind, text, lambda read: None if read.gauges is None else getattr(read.gauges, attribute))


def _holder(name: str, text: str, attribute: str) -> Metric:
    """Declare what the last look has shown of the holder of the oldest snapshot."""

    def value(reading: Reading) -> float | None:
        if reading.sight is None:
            return None
        return 0.0 if reading.sight.holder is None else float(getattr(reading.sight.holder, attribute))

    return _whole(name, Kind.GAUGE, text, value)


def _stage(name: str, kind: Kind, text: str, value: Callable[[StageGauges], float]) -> Metric:
    """Declare a metric with one value for each stage."""

    def values(reading: Reading) -> Values:
        return [((stage.stage,), float(value(stage))) for stage in (reading.gauges.stages if reading.gauges else ())]

    return Metric(name, kind, text, ("stage",), values)


def _workers(reading: Reading) -> Values:
    for stage in reading.gauges.stages if reading.gauges else ():
        for state, count in stage.workers.items():
            yield (stage.stage, state), float(count)


def _wakes(reading: Reading) -> Values:
    return _each(reading.gauges.wakes) if reading.gauges else ()


def _each(values: Mapping[str, float]) -> Values:
    return [((name,), float(value)) for name, value in values.items()]


_G, _C = Kind.GAUGE, Kind.COUNTER

METRICS: tuple[Metric | Distribution, ...] = (
    Metric(
        "pepsi_build_info", _G, "Always 1; the version is the label.", ("version",), lambda _: [((__version__,), 1)]
    ),
    # The dispatcher and its database
    _whole("pepsi_epoch", _G, "The epoch that this dispatcher began.", lambda reading: reading.epoch),
    _whole(
        "pepsi_lock_held",
        _G,
        "Whether the database's dispatcher lock is held; without it no mail is claimed.",
        lambda reading: float(reading.gauges is not None and reading.gauges.lock_held),
    ),
    Metric(
        "pepsi_database_up",
        _G,
        "Whether a database session is up.",
        ("session",),
        lambda reading: _each(reading.sessions),
    ),
    _engine("pepsi_owed_writes", _G, "Writes that the database has not taken yet.", "owed"),
    _holder(
        "pepsi_oldest_snapshot_seconds", "How long somebody has held the oldest snapshot; 0 if nobody does.", "seconds"
    ),
    _holder(
        "pepsi_oldest_snapshot_transactions", "How many transactions ago the oldest snapshot began.", "transactions"
    ),
    _whole(
        "pepsi_dead_rows",
        _G,
        "Rows of the queue to be cleared away.",
        lambda read: None if read.sight is None else read.sight.dead,
    ),
    Metric("pepsi_wakes", _C, "Reasons to look for mail.", ("reason",), _wakes),
    Distribution(
        "pepsi_claim_seconds",
        "How long a claim took, from question to answer.",
        lambda reading: reading.meters.claim_seconds,
    ),
    Distribution("pepsi_claim_rows", "How many messages a claim brought.", lambda reading: reading.meters.claim_rows),
    _whole(
        "pepsi_claims_failed",
        _C,
        "Claims that did not come back.",
        lambda reading: reading.meters.claims_failed,
    ),
    Distribution(
        "pepsi_turn_seconds",
        "How long one turn of the dispatcher took; nothing else happens meanwhile.",
        lambda reading: reading.meters.turn_seconds,
    ),
    # The work
    _engine("pepsi_passes", _C, "Answers that moved a message on or failed it; a fused chain is one.", "passes"),
    _engine("pepsi_messages_failed", _C, "Messages that failed for good.", "failed"),
    _stage("pepsi_in_flight", _G, "Messages held: claimed, and not yet let go.", lambda s: s.in_flight),
    _stage("pepsi_waiting", _G, "Messages claimed that wait for a worker.", lambda s: s.waiting),
    _stage("pepsi_messages", _C, "Messages answered for.", lambda s: s.counts.messages),
    _stage("pepsi_failures", _C, "Messages answered for with a failure.", lambda s: s.counts.failures),
    _stage("pepsi_strikes", _C, "Messages blamed for a crash or a hang.", lambda s: s.counts.strikes),
    _stage("pepsi_requeues", _C, "Messages given back without having run.", lambda s: s.counts.requeues),
    _stage("pepsi_work_seconds", _C, "Time spent on messages.", lambda s: s.counts.microseconds / 1e6),
    _stage("pepsi_io_errors", _C, "Answers of 74: the database connection was lost.", lambda s: s.memory.io_errors),
    _stage(
        "pepsi_temporary_failures",
        _C,
        "Answers of 75: no database connection was free.",
        lambda s: s.memory.temporary_failures,
    ),
    _stage("pepsi_message_seconds_average", _G, "What a message takes, a moving average.", lambda s: s.average),
    _stage(
        "pepsi_head_of_line_seconds",
        _G,
        "How long the slowest worker has been at the message in hand, or at getting ready.",
        lambda s: s.head_lag,
    ),
    # The workers
    Metric("pepsi_workers", _G, "Workers by state.", ("stage", "state"), _workers),
    _stage(
        "pepsi_workers_allowed",
        _G,
        "How many workers there may be: PARALLELISM, or less after answers of 75.",
        lambda s: s.parallelism,
    ),
    _stage("pepsi_workers_started", _C, "Workers started.", lambda s: s.memory.workers_started),
    _stage("pepsi_failed_starts", _C, "Workers that never got ready.", lambda s: s.memory.failed_starts),
    _stage("pepsi_crashes", _C, "Workers that ended unasked.", lambda s: s.counts.crashes),
    _stage("pepsi_hangs", _C, "Workers killed over a message that took too long.", lambda s: s.counts.timeouts),
    _stage(
        "pepsi_hold_off_seconds", _G, "How long nothing is claimed yet; 0 if claims are made.", lambda s: s.hold_off
    ),
    _stage("pepsi_cooldown_seconds", _G, "How long no worker is started yet; 0 if they are.", lambda s: s.cooldown),
)
