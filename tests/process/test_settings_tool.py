"""pepsi-settings as a process on a real database."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support_database import Database
from tests.support_queue_tool import HOSTILE, PATIENCE, Done, plain

COMMAND = (sys.executable, "-bb", "-W", "error", "-m", "pepsi.tools.settings.program")
SECTIONS = """\
[pepsi]
X = y
[stage-mailbox]
PROGRAM = pepsi-stage-deliver-maildir
DIRECTORY = /srv/mail
LINE_ENDS = lf
[stage-sort]
PROGRAM = pepsi-stage-if
CONDITION = size > 1 MB
[stage-own]
PROGRAM = /opt/own --fast
COLOUR = red
"""


class Tool:
    """The tool with a configuration whose other sections are wrong."""

    def __init__(self, file: Path, database: Database) -> None:
        self.file = file
        self.configure(database.dsn)

    def configure(self, dsn: str) -> None:
        self.file.write_text(f"[pepsi-postgres]\nDSN = {dsn}\n{SECTIONS}")

    def __call__(self, *words: str, environ: Mapping[str, str] | None = None) -> Done:
        done = subprocess.run(
            [*COMMAND, "-c", str(self.file), *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            env={**os.environ, **(environ or {})},
        )
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def on_terminal(self, *words: str) -> Done:
        ours, theirs = pty.openpty()
        environ = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
        process = subprocess.Popen(
            [*COMMAND, "-c", str(self.file), *words],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=environ,
        )
        os.close(theirs)
        seen = b""
        with suppress(OSError):
            while piece := os.read(ours, 65536):
                seen += piece
        os.close(ours)
        return Done(process.wait(PATIENCE), seen.replace(b"\r\n", b"\n"), "")


@pytest.fixture
def settings(tmp_path: Path, database: Database) -> Tool:
    return Tool(tmp_path / "pepsi.conf", database)


def kept(database: Database) -> list[tuple[str, ...]]:
    return database.rows("SELECT address, stage, key, value FROM pepsi.settings ORDER BY 2, 1, 3")


def test_what_is_set_can_be_listed_got_changed_and_unset(settings: Tool, database: Database) -> None:
    done = settings("set", "Bob@Example.ORG", "mailbox", "LINE_ENDS", "crlf")
    assert (done.status, done.out, done.said) == (0, "LINE_ENDS is set for bob@example.org at stage mailbox\n", "")
    assert settings("set", "*", "mailbox", "TRACE_HEADERS", "no", "--quiet").raw == b""
    assert settings("list").lines == ["*\tmailbox\tTRACE_HEADERS\tno", "bob@example.org\tmailbox\tLINE_ENDS\tcrlf"]
    assert settings("list", "--address", '"BOB"@example.org').lines == ["bob@example.org\tmailbox\tLINE_ENDS\tcrlf"]
    assert settings("list", "--stage", "sort").raw == b""
    assert settings("get", "bob@example.org", "mailbox").out == "LINE_ENDS = crlf\n"
    assert settings("get", "bob@example.org", "mailbox", "LINE_ENDS").out == "crlf\n"
    assert json.loads(settings("get", "bob@example.org", "mailbox", "--json").raw) == {"LINE_ENDS": "crlf"}
    done = settings("set", "bob@example.org", "mailbox", "LINE_ENDS", "lf", "--json")
    assert json.loads(done.raw) == {
        "address": "bob@example.org",
        "stage": "mailbox",
        "key": "LINE_ENDS",
        "value": "lf",
        "former_value": "crlf",
    }
    done = settings("unset", "bob@example.org", "mailbox", "LINE_ENDS")
    assert done.out == "LINE_ENDS is no longer set for bob@example.org at stage mailbox\n"
    for words in (("unset", "bob@example.org", "mailbox", "LINE_ENDS"), ("get", "a@b", "mailbox", "LINE_ENDS")):
        done = settings(*words)
        assert (done.status, done.raw) == (1, b"")
        assert "LINE_ENDS is not set for" in done.said
    assert kept(database) == [("*", "mailbox", "TRACE_HEADERS", "no")]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("mailbox", "LINE_ENDS", "lines"), "expected one of crlf, lf"),
        (("mailbox", "LINE_END", "lf"), "did you mean LINE_ENDS?"),
        (("mailbox", "DIRECTORY", "/"), "cannot be set by address; those of the stage mailbox are TRACE_HEADERS"),
        (("mailbox", "PROGRAM", "/bin/sh"), "set for nobody alone"),
        (("mailbox", "QUEUE_LIMIT", "1", "--force"), "set for nobody alone"),
        (("mailbox", "LINE_ENDS", "lines", "--force"), "expected one of crlf, lf"),
        (("sort", "CONDITION", "size >"), "expected a condition"),
        (("own", "COLOUR", "blue"), "PROGRAM = /opt/own --fast"),
        (("mailbx", "LINE_ENDS", "lf"), "did you mean mailbox?"),
    ],
)
def test_what_the_stage_would_not_take_is_refused(
    settings: Tool, database: Database, words: tuple[str, ...], part: str
) -> None:
    done = settings("set", "bob@example.org", *words)
    assert (done.status, done.raw) == (1, b"")
    assert part in done.said
    assert kept(database) == []


@pytest.mark.parametrize("stage", ["own", "nowhere"])
def test_for_a_program_of_somebody_else_it_can_be_forced(settings: Tool, database: Database, stage: str) -> None:
    assert settings("set", "@x.org", stage, "COLOUR", "--force", "--", "-c blue").status == 0
    assert kept(database) == [("@x.org", stage, "COLOUR", "-c blue")]


def test_a_stage_that_is_in_the_database_alone_is_known(settings: Tool, database: Database) -> None:
    database.rows(
        "INSERT INTO pepsi.config_override VALUES ('stage-own', 'PROGRAM', 'pepsi-stage if'), "
        "('stage-new', 'PROGRAM', 'pepsi-stage-deliver-maildir')"
    )
    assert settings("set", "*", "new", "LINE_ENDS", "lf").status == 0
    assert settings("set", "*", "own", "CONDITION", "size > 1").status == 0


def test_explain_shows_each_candidate_and_why_one_wins(settings: Tool, database: Database) -> None:
    settings("set", "*", "mailbox", "LINE_ENDS", "lf", "--quiet")
    settings("set", "@example.org", "mailbox", "LINE_ENDS", "crlf", "--quiet")
    settings("set", "bob@example.org", "mailbox", "TRACE_HEADERS", "no", "--quiet")
    assert settings("explain", "BOB@example.org", "mailbox").lines == [
        "TRACE_HEADERS",
        "  * bob@example.org  no   wins: set for just this address",
        "    default          yes",
        "LINE_ENDS",
        "  * @example.org" + " " * (len(str(settings.file)) - 8) + "crlf   wins: set for the domain",
        "    *" + " " * (len(str(settings.file)) + 3) + "lf",
        f"    {settings.file}:8  lf",
    ]
    found = json.loads(settings("explain", "carl@example.net", "mailbox", "--json").raw)
    assert [(each["key"], each["value"], each["source"]) for each in found] == [
        ("TRACE_HEADERS", "yes", "default"),
        ("LINE_ENDS", "lf", "*"),
    ]
    assert found[1]["candidates"] == [
        {"source": "*", "value": "lf"},
        {"source": f"{settings.file}:8", "value": "lf"},
    ]


def test_explain_tells_what_has_no_effect_and_what_cannot_be_used(settings: Tool, database: Database) -> None:
    database.rows(
        "INSERT INTO pepsi.settings VALUES ('a@x', 'mailbox', 'DIRECTORY', '/'), ('a@x', 'mailbox', 'LINE_ENDS', 'x')"
    )
    done = settings("explain", "a@x", "mailbox")
    assert done.status == 0
    assert "DIRECTORY (it cannot be set by address, so this has no effect)" in done.out
    assert f"* {settings.file}:7  /srv/mail" in done.out
    assert "mail of this correspondent fails at the stage" in done.said
    assert "expected one of crlf, lf" in done.said
    assert "not known which keys count there" in settings("explain", "a@x", "own").said


def test_what_is_hostile_drives_no_terminal(settings: Tool, database: Database) -> None:
    database.rows(
        "INSERT INTO pepsi.settings VALUES (pepsi.settings_address(%(h)s), 'mailbox', 'LINE_ENDS', %(h)s), "
        "('*', 'mailbox', 'LINE_ENDS', %(h)s), ('a@x', %(h)s, %(h)s, %(h)s)",
        h=HOSTILE,
    )
    for words in ((), ("--json",), ("get", "*", "mailbox"), ("explain", "a@x", "mailbox")):
        done = settings(*words)
        assert done.status == 0
        assert plain(done.raw)
        assert plain(done.said.encode())
        assert plain(settings.on_terminal(*words).raw)
    assert len(json.loads(settings("list", "--json").raw)) == 3


def test_a_long_list_is_shown_in_pages_and_as_a_table(settings: Tool, database: Database) -> None:
    database.rows(
        "INSERT INTO pepsi.settings SELECT 'user' || n || '@x', 'mailbox', 'LINE_ENDS', 'lf' "
        "FROM generate_series(1, 1203) n"
    )
    assert len(set(settings("list").lines)) == 1203
    assert len(json.loads(settings("list", "--json").raw)) == 1203
    table = settings.on_terminal("list").lines
    assert table[0].split() == ["ADDRESS", "STAGE", "KEY", "VALUE"]
    assert len(table) == 1204


def test_without_a_database_the_status_is_69(settings: Tool) -> None:
    settings.configure("host=/nonexistent password=hunter2 dbname=a")
    done = settings("list")
    assert (done.status, done.raw, done.said.count("\n")) == (69, b"", 1)
    assert "hunter2" not in done.said
