"""The proxy that tests put before PostgreSQL."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests.support_database import Database
from tests.support_program import until
from tests.support_proxy import Proxy


@pytest.fixture
def proxy(database: Database) -> Iterator[Proxy]:
    with Proxy(database.dsn) as made:
        yield made


def connect(proxy: Proxy, name: str) -> Any:
    connection = psycopg2.connect(proxy.dsn, application_name=name)
    connection.autocommit = True
    return closing(connection)


def ask(connection: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


class Question:
    """``ask`` in a connection of its own that does not wait: what came of it is looked for."""

    def __init__(self, proxy: Proxy, name: str) -> None:
        self.connection = psycopg2.connect(proxy.dsn, application_name=name, async_=1)

    def ready(self) -> bool:
        return bool(self.connection.poll() == psycopg2.extensions.POLL_OK)


def test_a_connection_is_known_by_its_application_name_and_cut_alone(proxy: Proxy) -> None:
    with connect(proxy, "first") as first, connect(proxy, "second") as second:
        assert proxy.names() == ["first", "second"]
        assert proxy.cut("fir*") == 1
        with pytest.raises(psycopg2.OperationalError):
            ask(first)
        assert ask(second)
        until(lambda: proxy.names() == ["second"])


def test_a_black_hole_says_nothing_and_what_it_held_back_comes_when_it_is_healed(
    proxy: Proxy, database: Database
) -> None:
    with connect(proxy, "first") as first, connect(proxy, "second") as second:
        backend = ask(first)
        assert proxy.blackhole("first") == 1
        assert ask(second)
        first.close()
        there = "SELECT count(*) FROM pg_stat_activity WHERE pid = %(pid)s"
        assert database.value(there, pid=backend) == 1
        with connect(proxy, "first") as again:
            assert ask(again)
            proxy.heal()
            until(lambda: database.value(there, pid=backend) == 0)


def test_a_lasting_black_hole_takes_connections_to_come(proxy: Proxy) -> None:
    assert proxy.blackhole("first", lasting=True) == 0
    asked = Question(proxy, "first")
    with closing(asked.connection), connect(proxy, "second") as second:
        assert ask(second)
        assert not asked.ready()
        proxy.heal()
        until(asked.ready)


def test_a_delay_holds_up_and_loses_nothing(proxy: Proxy) -> None:
    with connect(proxy, "first") as first:
        assert proxy.delay(0.05) == 1
        assert ask(first) == ask(first)


def test_refused_connections_are_broken_and_healed_ones_are_not(proxy: Proxy) -> None:
    with connect(proxy, "first") as first:
        proxy.refuse()
        with pytest.raises(psycopg2.OperationalError):
            connect(proxy, "second")
        assert ask(first)
        proxy.heal()
        with connect(proxy, "second") as second:
            assert ask(second)


def test_a_process_of_its_own_does_the_same_by_commands(database: Database) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support_proxy", database.dsn],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        dsn = process.stdout.readline().strip()
        with closing(psycopg2.connect(dsn, application_name="first")):
            answers = []
            for line in ("blackhole f*", "delay 0.1 * lasting", "heal", "refuse", "dance", "cut *"):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                answers.append(process.stdout.readline().strip())
        process.stdin.close()
        assert process.wait(30) == 0
    assert answers == ["1", "1", "1", "0", "error unknown command 'dance\\n'", "1"]
