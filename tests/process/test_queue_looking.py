"""What pepsi-queue shows, as a process on a real database."""

import json
import os
from pathlib import Path

import pytest

from tests.db.queue import Queue
from tests.support_queue_tool import HOSTILE, PATIENCE, Tool, plain


@pytest.mark.parametrize("words", [(), ("list", "--state-only")])
def test_an_empty_queue_is_no_error(tool: Tool, words: tuple[str, ...]) -> None:
    done = tool(*words)
    assert (done.status, done.raw, done.said) == (0, b"", "")


def test_messages_come_in_the_order_of_their_numbers(tool: Tool, queue: Queue) -> None:
    numbers = [queue.add(stage=stage) for stage in ("relay", "a", "relay")]
    done = tool()
    assert [line.split("\t")[:3] for line in done.lines] == [
        [str(number), stage, "pending"] for number, stage in zip(numbers, ("relay", "a", "relay"), strict=True)
    ]
    assert [line.split("\t")[0] for line in tool("--limit", "2").lines] == [str(number) for number in numbers[:2]]


def test_more_than_a_page_is_listed_whole_and_once(tool: Tool, queue: Queue) -> None:
    queue.add()
    queue.database.rows(
        "INSERT INTO pepsi.workqueue (body_id, size, stage, mail_from, recipients) "
        "SELECT body_id, 1, 'a', 'x@y', '{z@y}' FROM pepsi.workqueue, generate_series(1, 1200)"
    )
    done = tool("--limit", "100000", "--json")
    assert [each["workqueue_id"] for each in json.loads(done.raw)] == queue.ids()
    assert len(tool("--limit", "1001").lines) == 1001


def test_filters_hold_together_and_take_wildcards_for_what_they_are(tool: Tool, queue: Queue) -> None:
    first, second, third = queue.add(stage="a"), queue.add(stage="relay"), queue.add(stage="a")
    queue.claim(third)
    numbers = {
        ("--stage", "a"): [first, third],
        ("--status", "running"): [third],
        ("--stage", "a", "--status", "pending"): [first],
        ("--stage", "%"): [],
        ("--stage", "_"): [],
        ("--stage", "a' OR 'a' = 'a"): [],
        ("--stage", "%(id)s"): [],
        (str(second),): [second],
    }
    for words, expected in numbers.items():
        done = tool(*words)
        assert [int(line.split("\t")[0]) for line in done.lines] == expected, words
        assert done.status == 0


def test_a_message_that_is_not_there_is_an_error(tool: Tool, queue: Queue) -> None:
    number = queue.add()
    for words in ((str(number + 1),), (str(2**63 - 1),), (str(number), "--stage", "relay")):
        done = tool(*words)
        assert (done.status, done.raw) == (1, b"")
        assert done.said.startswith(f"pepsi-queue: there is no message {words[0]}")
    done = tool("--json", str(number + 1))
    assert (done.status, done.raw) == (1, b"[]\n")
    said = tool(str(number), "--stage", "relay", "--status", "failed").said
    assert said == f"pepsi-queue: there is no message {number} of status failed at stage relay\n"


def test_a_misspelt_stage_is_doubted(tool: Tool, queue: Queue) -> None:
    queue.database.rows("INSERT INTO pepsi.config_override VALUES ('stage-bounce', 'PROGRAM', 'x')")
    assert tool("--stage", "rely").said == (
        "pepsi-queue: no message is at stage rely, and there is no section of that name; did you mean relay?\n"
    )
    assert tool("--stage", "bounce").said == tool("--stage", "a").said == ""


def test_the_whole_state_is_shown_if_it_is_asked_for(tool: Tool, queue: Queue) -> None:
    state = {"last_error": "x" * 5000, "nested": {"ü": [1, None, True]}}
    number = queue.add(state=state)
    queue.add(state={"other": 1})
    assert json.loads(tool("--state-only", str(number)).raw) == state
    assert [json.loads(line) for line in tool("--state-only").lines] == [state, {"other": 1}]
    assert json.loads(tool("--state-only", "--json").raw) == [state, {"other": 1}]
    assert max(map(len, tool().lines)) < 400


def test_json_has_the_keys_that_are_promised(tool: Tool, queue: Queue) -> None:
    number = queue.add(mail_from="", state={"n": 1})
    (found,) = json.loads(tool("--json").raw)
    assert found.pop("received_at").endswith("Z")
    assert found == {
        "workqueue_id": number,
        "stage": "a",
        "status": "pending",
        "mail_from": "",
        "subject": "s",
        "state": {"n": 1},
    }


@pytest.mark.parametrize("words", [(), ("--json",), ("--state-only",), ("--state-only", "--json")])
def test_what_a_sender_wrote_never_drives_the_terminal(tool: Tool, hostile: int, words: tuple[str, ...]) -> None:
    piped = tool(*words, str(hostile))
    assert piped.status == 0
    assert plain(piped.raw)
    assert len(piped.lines) == (2 if "--json" in words else 1)
    shown = tool.on_terminal(*words, str(hostile), environ={"NO_COLOR": "1"})
    assert plain(shown.raw, allowed=b"\n")
    assert len(shown.lines) == (2 if "--json" in words or not words else 1)


def test_hostile_text_in_reports_and_errors_is_escaped_as_well(tool: Tool, queue: Queue, hostile: int) -> None:
    for words in (
        ("set-stage", str(hostile), "a"),
        ("set-stage", str(hostile), HOSTILE),
        ("--stage", HOSTILE.replace("\x85", "")),
        (HOSTILE,),
        ("delete", str(hostile)),
    ):
        done = tool(*words)
        assert plain(done.raw), words
        assert plain(done.said.encode()), words
    assert queue.ids() == []


LOCALES = [
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LANG": "de_DE.ISO-8859-1", "PYTHONUTF8": "0"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
]


def test_json_is_the_same_in_every_locale(tool: Tool, queue: Queue, hostile: int) -> None:
    queue.database.rows("UPDATE pepsi.workqueue SET subject = %(subject)s", subject="ü\U0010ffff漢" * 200_000)
    usual = tool("--json")
    (found,) = json.loads(usual.raw)
    assert found["subject"] == "ü\U0010ffff漢" * 200_000
    assert found["state"]["last_error"] == HOSTILE
    for environ in LOCALES:
        other = tool("--json", environ=environ)
        assert (other.status, other.said, other.raw == usual.raw) == (0, "", True), environ


def test_a_line_can_be_shown_in_every_locale(tool: Tool, hostile: int) -> None:
    for environ in LOCALES:
        done = tool(environ=environ)
        assert (done.status, done.said) == (0, ""), environ
        assert (done.raw.count(b"\n"), done.raw.count(b"\t")) == (1, 6), environ


def test_colour_is_for_terminals_whose_owner_wants_it(tool: Tool, queue: Queue) -> None:
    queue.running()
    assert b"\033[32mrunning" in tool.on_terminal().raw
    assert b"\033" not in tool().raw
    assert b"\033" not in tool.on_terminal(environ={"NO_COLOR": "1"}).raw
    assert b"\033" not in tool.on_terminal(environ={"TERM": "dumb"}).raw


def test_a_table_keeps_to_the_terminal_and_says_when_there_is_more(tool: Tool, queue: Queue) -> None:
    for _ in range(3):
        queue.add(mail_from="x" * 60 + "@example.org", state={"last_error": "y" * 300})
    heading, *rows, hint = tool.on_terminal("--limit", "2", environ={"NO_COLOR": "1"}).lines
    assert heading.split() == ["ID", "STAGE", "STATUS", "RECEIVED", "FROM", "SUBJECT", "STATE"]
    assert [len(row) for row in rows] == [100, 100]
    assert "--limit" in hint
    assert len(tool.on_terminal("--limit", "10").lines) == 4


def test_a_reader_who_has_enough_ends_it_quietly(tool: Tool, queue: Queue) -> None:
    queue.add(state={"x": "y" * 3_000_000})
    process = tool.begin("--state-only")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(1) == b"{"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(PATIENCE) == 0
    process.stderr.close()


def test_a_reader_who_has_enough_of_the_completion_ends_it_quietly(tool: Tool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = tool.begin("--print-completion", "bash", stdout=writing)
    os.close(writing)
    _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (0, b"")


def test_a_full_disk_is_said(tool: Tool, queue: Queue) -> None:
    queue.add()
    with Path("/dev/full").open("wb") as full:
        process = tool.begin(stdout=full)
        _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (1, b"pepsi-queue: standard output: No space left on device\n")
