"""Looks at a database as Pepsi will use it, and says what to change: ``pepsi-setup doctor``."""

import enum
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from psycopg2.extensions import connection as Connection

from pepsi.config.load import Config
from pepsi.db import claims, housekeeping, leadership, schema
from pepsi.db.binaries import OLDEST
from pepsi.db.schema import SchemaState, Verdict
from pepsi.db.statement import named
from pepsi.db.sync import run
from pepsi.model.text import visible
from pepsi.sched.lookout import OLD, Holder, Sight
from pepsi.tools.schema import state_of

DISPATCHER_SESSIONS = 3
INGRESS_SESSIONS = 2
TOOL_SESSIONS = 2
"""Database sessions: of the dispatcher, of the SMTP door, and for an operator's tools to have room."""
SKEW = 2.0
"""Seconds that the clocks of server and host may differ."""


class Grade(enum.StrEnum):
    """How bad a finding is."""

    GOOD = "good"
    DOUBT = "doubt"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do about it if it is not well."""

    grade: Grade
    what: str
    mend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was found out about a server. *skew* is how many seconds its clock is ahead of ours, *rtt* how long it took.

    *sight* is what the queue's table shows, and *unclaimed* at which stages without a section mail waits, and how much;
    both are unknown where there is no queue yet.
    """

    version: int
    encoding: str
    standby: bool
    pooled: bool
    skew: float
    rtt: float
    max_connections: int
    reserved: int
    connection_limit: int | None
    others: int
    autovacuum: bool
    fsync: bool
    full_page_writes: bool
    schema: SchemaState
    neglected: tuple[str, ...] = ()
    sight: Sight | None = None
    unclaimed: tuple[tuple[str, int], ...] = ()


def gather(connection: Connection, clock: Callable[[], float] = time.time) -> Facts:
    """Ask the server. Raises psycopg2.Error."""
    files = schema.shipped()
    backends = {tuple(run(connection, leadership.same_backend())) for _ in range(2)}
    began = clock()
    ((version, encoding, standby, server_clock, most, reserved, limit, others, autovacuum, fsync, pages),) = run(
        connection, named("doctor_server")
    )
    ended = clock()
    return Facts(
        version=version,
        encoding=encoding,
        standby=standby,
        pooled=len(backends) > 1,
        skew=server_clock - (began + ended) / 2,
        rtt=ended - began,
        max_connections=most,
        reserved=reserved,
        connection_limit=limit,
        others=others,
        autovacuum=autovacuum,
        fsync=fsync,
        full_page_writes=pages,
        schema=state_of(connection, files),
        neglected=tuple(name for (name,) in run(connection, named("doctor_tables"))),
    )


def look_at_queue(connection: Connection, facts: Facts, config: Config) -> Facts:
    """Return *facts* with what the queue shows, which must be of this release. Raises psycopg2.Error."""
    (row,) = run(connection, housekeeping.oldest_snapshot())
    unclaimed = tuple((stage, count) for stage, count in run(connection, claims.unknown_stages(config.stages)))
    return replace(facts, sight=housekeeping.sight(row), unclaimed=unclaimed)


def examine(facts: Facts, config: Config) -> list[Finding]:
    """Judge *facts* for a Pepsi that is configured as *config* says."""
    return [
        *_server(facts),
        _schema(facts),
        _connections(facts, config),
        *_vacuum(facts),
        *_unclaimed(facts),
        *_durability(facts),
        _clock(facts),
    ]


def _server(facts: Facts) -> Iterator[Finding]:
    major = facts.version // 10_000
    if major < OLDEST:
        yield Finding(Grade.BAD, f"PostgreSQL {major}", f"upgrade it: Pepsi needs {OLDEST} or newer")
    else:
        yield Finding(Grade.GOOD, f"PostgreSQL {major}")
    if facts.standby:
        yield Finding(Grade.BAD, "the server is a standby", "name the primary in [pepsi-postgres] DSN")
    if facts.pooled:
        mend = "name PostgreSQL itself in [pepsi-postgres] DSN: locks and notifications belong to a session"
        yield Finding(Grade.BAD, "a pooler hands out another session for each transaction", mend)
    if facts.encoding != "UTF8":
        mend = "name a new one in [pepsi-postgres] DSN and run 'pepsi-setup database create'"
        yield Finding(Grade.BAD, f"the database is encoded in {facts.encoding}, and mail is not", mend)


def _schema(facts: Facts) -> Finding:
    if facts.schema.verdict is Verdict.CURRENT:
        return Finding(Grade.GOOD, str(facts.schema))
    what, _, mend = str(facts.schema).partition("; ")
    return Finding(Grade.BAD, what, mend)


def _connections(facts: Facts, config: Config) -> Finding:
    workers = sum(spec.parallelism for spec in config.specs.values())
    needed = DISPATCHER_SESSIONS + INGRESS_SESSIONS + TOOL_SESSIONS + workers
    room = facts.max_connections - facts.reserved - facts.others
    if facts.connection_limit is not None:
        room = min(room, facts.connection_limit)
    what = (
        f"up to {needed} connections are needed (dispatcher {DISPATCHER_SESSIONS}, SMTP door {INGRESS_SESSIONS}, tools "
        f"{TOOL_SESSIONS}, workers {workers}); there is room for {room}"
    )
    if needed <= room:
        return Finding(Grade.GOOD, what)
    if facts.connection_limit is not None and room == facts.connection_limit:
        return Finding(Grade.BAD, what, f"raise the CONNECTION LIMIT of the role or the database to {needed}")
    largest = max(config.specs.values(), key=lambda spec: spec.parallelism)
    mend = (
        f"raise max_connections of the server to {facts.max_connections + needed - room}, or lower PARALLELISM, which "
        f"is {largest.parallelism} for [stage-{largest.name}]"
    )
    return Finding(Grade.BAD, what, mend)


def _vacuum(facts: Facts) -> Iterator[Finding]:
    if not facts.autovacuum:
        mend = "set autovacuum and track_counts to on, or the queue will slow down by the hour"
        yield Finding(Grade.BAD, "autovacuum is off", mend)
    for table in facts.neglected:
        mend = f"ALTER TABLE pepsi.{table} RESET (autovacuum_enabled)"
        yield Finding(Grade.BAD, f"autovacuum is told to leave pepsi.{table} alone", mend)
    if facts.autovacuum and not facts.neglected:
        yield Finding(Grade.GOOD, "autovacuum is on")
    if facts.sight is not None and facts.sight.holder is not None:
        yield from _holder(facts.sight.holder, crowded=facts.sight.crowded)


def _holder(holder: Holder, *, crowded: bool) -> Iterator[Finding]:
    # Of some nobody knows since when; a standby that does its work is among them.
    if not (crowded if holder.seconds is None else holder.seconds >= OLD):
        return
    since = "" if holder.seconds is None else f" for {holder.seconds:.0f} s"
    mend = f"dead rows that cannot be cleared away make every claim slower; {holder.mend}"
    yield Finding(Grade.DOUBT, f"{visible(str(holder))} holds on to old row versions{since}", visible(mend))


def _unclaimed(facts: Facts) -> Iterator[Finding]:
    for stage, count in facts.unclaimed:
        name = visible(stage)
        what = f"{count} messages wait at {name}, which has no section [stage-{name}], so that nobody takes them"
        yield Finding(Grade.BAD, what, "add the section, or let them go on elsewhere with 'pepsi-queue set-stage'")


def _durability(facts: Facts) -> Iterator[Finding]:
    for name, on in (("fsync", facts.fsync), ("full_page_writes", facts.full_page_writes)):
        if not on:
            mend = f"set {name} to on, or a power cut loses mail that was accepted"
            yield Finding(Grade.BAD, f"{name} is off", mend)


def _clock(facts: Facts) -> Finding:
    # Half of the round trip is a guess of when the server looked at its clock.
    if abs(facts.skew) <= SKEW + facts.rtt / 2:
        return Finding(Grade.GOOD, "the clocks of server and host agree")
    direction = "ahead of" if facts.skew > 0 else "behind"
    what = f"the server's clock is {abs(facts.skew):.1f} s {direction} this host's"
    return Finding(Grade.DOUBT, what, "let both follow a time server (NTP)")


def worst(findings: Sequence[Finding]) -> Grade:
    """Return the worst grade among *findings*."""
    return max((finding.grade for finding in findings), key=list(Grade).index)
