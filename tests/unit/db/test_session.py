"""The libpq string of a session."""

import pytest
from psycopg2.extensions import parse_dsn

from pepsi.db.session import Parameters, conninfo, described, pins
from pepsi.errors import ConfigError

SECRET = "hunter2"


@pytest.mark.parametrize("dsn", ["", "host=/run dbname=a", f"postgresql://me:{SECRET}@db.example/a?sslmode=require"])
def test_every_session_says_what_it_is_and_notices_a_dead_peer(dsn: str) -> None:
    made = parse_dsn(conninfo(Parameters(dsn=dsn, application_name="pepsi test", connect_timeout=2.5)))
    assert parse_dsn(dsn).items() <= made.items()
    assert made["application_name"] == "pepsi test"
    assert made["connect_timeout"] == "3"
    assert made["client_encoding"] == "UTF8"
    assert made["keepalives"] == "1"


def test_what_the_operator_says_of_keepalives_stands() -> None:
    made = parse_dsn(conninfo(Parameters(dsn="keepalives_idle=7", application_name="a")))
    assert made["keepalives_idle"] == "7"


def test_no_time_for_a_connect_is_never_taken_for_endless_time() -> None:
    made = parse_dsn(conninfo(Parameters(dsn="", application_name="a", connect_timeout=0)))
    assert made["connect_timeout"] == "2"


def test_both_ends_give_up_a_peer_that_is_silent_for_less_than_a_minute() -> None:
    parameters = Parameters(dsn="", application_name="a")
    made = parse_dsn(conninfo(parameters))
    ours = {key: int(made[key]) for key in ("keepalives_idle", "keepalives_interval", "keepalives_count")}
    assert ours["keepalives_idle"] + ours["keepalives_interval"] * ours["keepalives_count"] < 60
    assert int(made["tcp_user_timeout"]) < 60_000
    for key, value in (*ours.items(), ("tcp_user_timeout", int(made["tcp_user_timeout"]))):
        assert f"SET {key.replace('keepalives', 'tcp_keepalives')} = '{value}'" in pins(parameters)


@pytest.mark.parametrize("dsn", [f"password={SECRET} host=db dbname=a", f"postgresql://me:{SECRET}@db/a"])
def test_a_password_is_never_shown(dsn: str) -> None:
    assert SECRET not in described(dsn)
    assert SECRET not in repr(Parameters(dsn=dsn, application_name="a"))
    assert "host=db" in described(dsn)


@pytest.mark.parametrize("dsn", [f"host=a {SECRET}", f"passwort={SECRET}", f"postgresql://[{SECRET}"])
def test_a_dsn_that_cannot_be_read_is_refused_without_quoting_it(dsn: str) -> None:
    with pytest.raises(ConfigError, match="DSN cannot be read") as caught:
        conninfo(Parameters(dsn=dsn, application_name="a"))
    assert SECRET not in str(caught.value)
    assert SECRET not in described(dsn)
