"""The log: one line an event, whatever the event says, and no reason to die when nobody reads it."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.logger import Logger, LogLevel
from twisted.python.failure import Failure

from pepsi.tap.log import LINE_LIMIT, StreamObserver, json_line, text_line

HOSTILE = "a\x1b[2J\r\nb\x00\x9b\u2028\ud800"


def event(text: str = "{what}", **fields: Any) -> dict[str, Any]:
    return {
        "log_format": text,
        "log_level": LogLevel.warn,
        "log_namespace": "pepsi.test",
        "log_time": 1_800_000_000.25,
        "log_logger": Logger(),
        **fields,
    }


def test_a_line_says_when_how_grave_who_and_what():
    assert text_line(event(what="it")) == "2027-01-15T08:00:00.250Z warn [pepsi.test] it\n"
    assert json.loads(json_line(event(what="it", count=3, share=float("nan")))) == {
        "time": "2027-01-15T08:00:00.250Z",
        "level": "warn",
        "logger": "pepsi.test",
        "text": "it",
        "what": "it",
        "count": 3,
        "share": "nan",
    }


@given(st.text(alphabet=st.characters(), max_size=50))
def test_an_event_is_one_printable_line_whatever_mail_put_into_it(text: str):
    for what in (text, HOSTILE + text):
        line = text_line(event(what=what))
        assert line.endswith("\n") and line.count("\n") == 1
        assert not set(line[:-1]) & set("\x00\x07\x1b\r\x7f\x9b\u2028")
        line.encode()
        record = json_line(event(what=what))
        assert record.isascii() and record.count("\n") == 1 and json.loads(record)["text"] == what


def test_an_event_is_bounded():
    for render in (text_line, json_line):
        assert len(render(event(what="x" * 10**6))) < 3 * LINE_LIMIT


def test_a_traceback_is_indented_below_the_event():
    try:
        raise ValueError("the cause\x1b")
    except ValueError:
        failure = Failure()
    first, *rest = text_line(event(what="it", log_failure=failure)).splitlines()
    assert first.endswith("it")
    assert rest and all(line.startswith("\t") for line in rest) and "the cause\\x1b" in rest[-1]
    assert "the cause" in json.loads(json_line(event(what="it", log_failure=failure)))["traceback"]


@pytest.mark.parametrize("error", [OSError(5, "EIO"), ValueError("I/O operation on closed file")])
def test_a_log_that_cannot_be_written_ends_nothing(error: Exception):
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise error

    StreamObserver(Gone(), as_json=False)(event(what="it"))


def test_an_event_that_cannot_be_shown_is_logged_all_the_same():
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no")

        __repr__ = __str__

    for as_json in (False, True):
        stream = io.StringIO()
        StreamObserver(stream, as_json=as_json)(event(what=Odd()))
        assert stream.getvalue().count("\n") == 1


def test_ids_stay_numbers_for_programs_that_read_the_log():
    record = json.loads(json_line(event(what="it", ids=[5, 7], pair=("a", None), odd=[[1]], many=[0] * 5000)))
    assert (record["ids"], record["pair"], record["odd"]) == ([5, 7], ["a", None], ["[1]"])
    assert isinstance(record["many"], str)
