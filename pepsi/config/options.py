"""The keys of every section but ``[pepsi-ingress]``, each declared once."""

from dataclasses import dataclass
from pathlib import Path

from pepsi.config.option import (
    Computed,
    address,
    boolean,
    command,
    dsn,
    duration,
    endpoint,
    host,
    integer,
    path,
    stage,
)

SHORTEST = 0.1
LONGEST = 86_400.0
"""Bounds of most time-outs, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pepsi:
    """``[pepsi]``: what all programs share."""

    allow_fusion: bool = boolean(
        "yes",
        doc="Whether a worker may do the next stage's work in the same pass, where that stage allows it with FUSION. "
        "It saves the database most of the work, and changes nothing that becomes of a message.",
    )
    share_telemetry: bool = boolean(
        "no",
        doc="Whether workers count, in the database, which features are used. Nothing is sent anywhere by itself. "
        "Has no effect in this release.",
    )
    hostname: str = host(
        Computed("the machine's host name"),
        doc="The name by which this host introduces itself to others and signs what it makes.",
    )
    postmaster: str = address(
        Computed("postmaster@HOSTNAME"),
        doc="The address of the person who answers for this host.",
    )
    state_directory: Path = path("/var/lib/pepsi", doc="Where files are kept that must outlive a restart.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """``[pepsi-postgres]``: the database."""

    dsn: str = dsn(
        required=True,
        concealed=True,
        doc="Which database to use; embedded runs a private server under STATE_DIRECTORY.",
    )
    worker_synchronous_commit: bool = boolean(
        "no",
        doc="Whether every commit of a worker waits for the disk. Without it a crash of the server can make the last "
        "fraction of a second of stage work happen again; no mail is lost either way.",
    )
    connect_timeout: float = duration(
        "10 s", low=1, high=600, doc="How long a connection may take to be made, in whole seconds."
    )
    statement_timeout: float = duration(
        "60 s", low=1, high=LONGEST, doc="How long a single statement may run before the server cancels it."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """``[pepsi-dispatch]``: the dispatcher."""

    config_file: Path | None = path(
        None,
        unset="workers search for their file as every program does",
        doc="The configuration file that workers are told to read, as -c FILE.",
    )
    max_runtime: float = duration(
        "300 s",
        low=SHORTEST,
        high=LONGEST,
        doc="How long a worker may be busy with one message before it is taken to hang and is killed.",
    )
    worker_idle_timeout: float = duration(
        "5 s", low=SHORTEST, high=LONGEST, doc="How long a worker may have nothing to do before it is stopped."
    )
    poll_interval: float = duration(
        "30 s",
        low=SHORTEST,
        high=LONGEST,
        doc="How often the queue is looked at even though nobody said that there is something new.",
    )
    stats_interval: float = duration(
        "60 s", low=SHORTEST, high=LONGEST, doc="How often statistics are written to the database."
    )
    fair_scheduling: bool = boolean(
        "yes",
        doc="Whether senders take turns at each stage by the time that their mail used, instead of oldest mail first. "
        "A sender is the login of who authenticated; of others the address that the mail came from, for IPv6 its "
        "network of 64 bits; and of what was made on this host the domain of the envelope sender.",
    )
    fair_half_life: float = duration(
        "60 s",
        low=SHORTEST,
        high=LONGEST,
        doc="How long it takes until half of the time that a sender used is forgotten.",
    )
    fair_fifo_percent: int = integer(
        10,
        low=0,
        high=100,
        doc="How much of each stage goes to its oldest mail whoever sent it, in percent. A message that takes longer "
        "than is usual there counts as several.",
    )
    standby: bool = boolean(
        "no", doc="Whether to wait for another dispatcher of the same database to end, instead of giving up."
    )
    metrics_listen: str | None = endpoint(
        None,
        unset="there is no such server",
        doc="Where metrics can be fetched over HTTP in the format of Prometheus, at /metrics. There is no password.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOptions:
    """``[stage-NAME]``: what every stage has. The options of a stage are a subclass that declares its own keys."""

    program: str = command(
        required=True, doc="The program that does the work of the stage, found on PATH unless it has a slash."
    )
    next_stage: str | None = stage(None, doc="Where a message goes that this stage is done with.")
    parallelism: int = integer(4, low=1, high=1000, doc="How many workers may run at once.")
    queue_limit: int = integer(4, low=1, high=1000, doc="How many messages a worker is handed at once.")
    max_messages: int = integer(
        1000, low=1, high=10**9, doc="After about how many messages a worker is replaced by a fresh one."
    )
    max_runtime: float | None = duration(
        None,
        unset="MAX_RUNTIME of [pepsi-dispatch] holds",
        low=SHORTEST,
        high=LONGEST,
        doc="How long a worker may be busy with one message before it is taken to hang and is killed.",
    )
    max_lifetime: float = duration(
        "120 h",
        low=SHORTEST,
        high=366 * 86_400,
        doc="How long after its arrival a message may still be tried again here when something is out of order.",
    )
    bounce_stage: str | None = stage(
        None,
        unset="the message is kept as failed",
        doc="Where a message goes that this stage refuses, or that was tried for MAX_LIFETIME.",
    )
    fusion: bool | None = boolean(
        None,
        unset="the stage decides",
        doc="Whether this stage may be run by the worker of the stage before it. That worker does not count for its "
        "PARALLELISM, and is killed after its own MAX_RUNTIME. Of the shipped stages, if and discard allow it. It is "
        "never done with a stage that acts on the outside world, needs more of a message than the one before it, or "
        "has a PROGRAM with arguments or a directory of another installation.",
    )
