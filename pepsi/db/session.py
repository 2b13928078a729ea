"""How every program of Pepsi connects: the libpq string, and the settings that a session is pinned to.

Nothing here connects; the reactor side and the blocking side both do with these strings.
"""

import math
from dataclasses import dataclass, field

import psycopg2
from psycopg2.extensions import make_dsn, parse_dsn

from pepsi.errors import ConfigError

LOCK_CLASS = 0x70657073
"""The first half of every advisory lock that Pepsi takes: ``peps`` in ASCII."""
DISPATCHER_LOCK = (LOCK_CLASS, 1)
"""``pg_advisory_lock(1885696115, 1)``: held by the one dispatcher of a database."""
SETUP_LOCK = (LOCK_CLASS, 2)
"""Held while the schema is changed."""

_KEEPALIVES = {
    "keepalives": 1,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 40_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What a session is made with. Times are in seconds; a *statement_timeout* of 0 is none."""

    dsn: str = field(repr=False)
    application_name: str
    connect_timeout: float = 10.0
    statement_timeout: float = 0.0
    synchronous_commit: bool = True


def conninfo(parameters: Parameters) -> str:
    """Return the libpq string to connect with. It can hold a password: never show it, show ``described`` instead.

    Raises ConfigError when the DSN cannot be read.
    """
    given = _parsed(parameters.dsn)
    ours = {
        **{key: value for key, value in _KEEPALIVES.items() if key not in given},
        "application_name": parameters.application_name,
        "client_encoding": "UTF8",
        # libpq counts whole seconds, and takes 0 for no bound at all.
        "connect_timeout": max(2, math.ceil(parameters.connect_timeout)),
    }
    return make_dsn(parameters.dsn, **ours)


def described(dsn: str) -> str:
    """Return *dsn* for a log line or a message: where it leads and as whom, without any secret."""
    try:
        given = _parsed(dsn)
    except ConfigError:
        return "a DSN that cannot be read"
    shown = ("service", "host", "hostaddr", "port", "dbname", "user")
    return " ".join(f"{key}={given[key]}" for key in shown if given.get(key)) or "the default of libpq"


_SERVER_KEEPALIVES = {
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
    "tcp_user_timeout": "40000",
}
"""The same at the server's end: what a silently cut session has locked is free again by the time it comes back."""


def pins(parameters: Parameters) -> str:
    """Return the statements, to be run as one string right after the connect, that pin a session.

    A role or a database can carry defaults of its own (a time-out, another isolation level, read-only transactions)
    that would break the queue in ways hard to find.
    """
    settings = {
        "client_encoding": "UTF8",
        "client_min_messages": "warning",
        "standard_conforming_strings": "on",
        "bytea_output": "hex",
        "DateStyle": "ISO, YMD",
        "IntervalStyle": "postgres",
        "TimeZone": "UTC",
        "search_path": "pg_catalog",
        "default_transaction_isolation": "read committed",
        "default_transaction_read_only": "off",
        "default_transaction_deferrable": "off",
        "statement_timeout": str(round(parameters.statement_timeout * 1000)),
        "lock_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
        "idle_session_timeout": "0",
        # A compiled plan costs a claim more than the claim itself.
        "jit": "off",
        "plan_cache_mode": "force_generic_plan",
        "synchronous_commit": "on" if parameters.synchronous_commit else "off",
        **_SERVER_KEEPALIVES,
    }
    lines = [f"SET {name} = '{value}'" for name, value in settings.items()]
    # Known from PostgreSQL 17 on; a plain SET would be an error before.
    lines.append(
        "SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout'"
    )
    return ";\n".join(lines)


def _parsed(dsn: str) -> dict[str, str]:
    try:
        return parse_dsn(dsn)
    except psycopg2.ProgrammingError:
        # The driver's own text quotes pieces of the string, and a piece may be the password.
        raise ConfigError(
            "[pepsi-postgres] DSN cannot be read: expected key=value pairs such as "
            "'host=/run/postgresql dbname=pepsi', or a postgresql:// URL"
        ) from None
