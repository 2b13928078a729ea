"""How a worker gets from its start to its first message, and to its end."""

import functools
import random
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg2
from psycopg2.extensions import connection as Connection

from pepsi.config.load import Base, load, load_base
from pepsi.db import messages, schema
from pepsi.db.faults import Fault, fault_of
from pepsi.db.overlay import overlay
from pepsi.db.sync import connect, run
from pepsi.db.target import parameters_of
from pepsi.errors import EX_CONFIG, EX_ERROR, EX_TEMPFAIL, ConfigError, DatabaseError, SchemaError, WireError
from pepsi.model.message import Need
from pepsi.model.text import one_line
from pepsi.stages.api import Stage
from pepsi.worker.channel import Channel, End
from pepsi.worker.environment import stage_and_epoch
from pepsi.worker.fusion import Line
from pepsi.worker.layers import layers_of
from pepsi.worker.link import Link, TroubleError
from pepsi.worker.loop import Worker, serve
from pepsi.worker.note import note
from pepsi.worker.owed import SHARE, Patience
from pepsi.worker.run import Runner
from pepsi.worker.stopping import Stopping, die_with_parent
from pepsi.worker.successors import Successors

_NO_RECORD = ("42P01", "3F000")
"""SQLSTATEs of a database that holds no schema of Pepsi: undefined_table, invalid_schema_name."""


def work(stage: Stage[Any], file: Path, channel: Channel, environ: Mapping[str, str], parent: int) -> int:
    """Be a worker until the dispatcher wants no more of it; return the exit status.

    *parent* is the dispatcher's process id. Raises what means that this process cannot go on.
    """
    stopping = Stopping()
    stopping.listen()
    if not die_with_parent(parent):
        note("the dispatcher is gone already")
        return EX_ERROR
    try:
        name, epoch = stage_and_epoch(environ)
        base = load_base(file)
        link = Link(functools.partial(_connected, base, stage, name), time.monotonic, random.random)
        link.open()
        config = load(file, overlay=link.run(overlay()))
        layers = layers_of(type(stage), config, name)
        options = layers.options
        stage.open(options)
    except (ConfigError, SchemaError) as error:
        note(_one_line(error))
        return EX_CONFIG
    except (DatabaseError, TroubleError, OSError) as error:
        note(_one_line(error))
        return EX_ERROR
    except psycopg2.Error as error:
        note(f"no database connection: {one_line(str(error))}")
        return EX_TEMPFAIL if fault_of(error) is Fault.LIMIT else EX_ERROR
    try:
        # A stage that reads no content works on many messages in the time of one round trip.
        batch = options.queue_limit if stage.needs is Need.METADATA and not stage.acts_outside else 1
        # options_of has filled in MAX_RUNTIME.
        owed = SHARE * (options.max_runtime or 0.0) if stage.acts_outside else 0.0
        patience = Patience(
            owed, lambda: stopping.requested, clock=time.monotonic, wait=stopping.wait, chance=random.random
        )
        runner = Runner(stage, layers, random.random)
        successors = Successors(config, name, stage, layers, random.random)
        # What was done outside is written before anything else is begun, lest a crash of that has it done again.
        fuses = config.pepsi.allow_fusion and not stage.acts_outside
        line = Line(runner, successors, time.perf_counter_ns) if fuses else runner
        worker = Worker(name, epoch, link, line, patience)
        with closing(successors):
            return _serve(channel, worker, link, stopping, batch)
    finally:
        stage.close()
        link.close()


def _serve(channel: Channel, worker: Worker, link: Link, stopping: Stopping, batch: int) -> int:
    try:
        end = serve(channel, worker, link, stopping, batch)
    except BrokenPipeError:
        end = End.ABANDONED
    except WireError as error:
        note(f"the dispatcher does not speak our protocol: {error}")
        return EX_ERROR
    if end is End.ABANDONED:
        note("the dispatcher is gone: nothing more is begun")
        return EX_ERROR
    return 0


def _connected(base: Base, stage: Stage[Any], name: str) -> Connection:
    """Return a connection that is ready for the first message. Raises psycopg2.Error, DatabaseError, ConfigError."""
    # A stage advance that a crash of the server takes back is done again. What went out into the world is not so easily
    # done again: a letter would be sent twice.
    synchronous = stage.acts_outside or base.postgres.worker_synchronous_commit
    connection = connect(parameters_of(base, f"pepsi-stage-{name}", synchronous_commit=synchronous))
    try:
        schema.require(schema.verdict(_record(connection), _shipped()))
        run(connection, messages.prepare(stage.needs))
    except (psycopg2.Error, DatabaseError):
        connection.close()
        raise
    return connection


def _record(connection: Connection) -> list[tuple[Any, ...]]:
    try:
        return run(connection, schema.recorded())
    except psycopg2.Error as error:
        if error.pgcode in _NO_RECORD:
            return []
        raise


@functools.cache
def _shipped() -> tuple[schema.SqlFile, ...]:
    return schema.shipped()


def _one_line(error: Exception) -> str:
    """Return the first line of what *error* says: more of it, and the log reads as if there were several errors."""
    first, *more = str(error).splitlines() or [type(error).__name__]
    return f"{first} (and {len(more)} more; 'check' shows all)" if more else first
