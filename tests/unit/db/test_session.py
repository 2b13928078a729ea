"""The libpq string of a session."""

import pytest
from psycopg2.extensions import parse_dsn

from pepsi.db.session import Parameters, conninfo, described
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
