"""Traces: what is read, that it is read as a stream, and what an error says."""

from collections.abc import Iterator

import pytest

from pepsi.errors import SimulationError
from pepsi.simulate import trace
from pepsi.simulate.arrival import Arrival


def read(text: str | bytes) -> list[Arrival]:
    data = text if isinstance(text, bytes) else text.encode()
    return list(trace.read(data.splitlines(keepends=True), "day.csv", ["sort", "relay"]))


def test_a_trace_in_csv_begins_at_zero_and_may_leave_out_what_it_does_not_know() -> None:
    found = read('time,sender,stage,class,service\n100.5,a@x,relay,list,20ms\n101,"b, c@x",,,\n\n101,,,,0.5\n')
    assert found == [
        Arrival(0.0, "a@x", "list", "relay", 0.020),
        Arrival(0.5, "b, c@x"),
        Arrival(0.5, "", service=0.5),
    ]


def test_tabs_and_any_order_of_columns_do_as_well() -> None:
    assert read("\ufeffsender\ttime\na@x\t1\nb@x\t3\n") == [Arrival(0.0, "a@x"), Arrival(2.0, "b@x")]


def test_one_json_object_a_line_does_as_well_with_dates() -> None:
    found = read(
        '{"time": "2026-01-31T12:00:00+01:00", "sender": "a@x"}\n'
        '{"time": "2026-01-31T11:00:02Z", "sender": "b@x", "service": 0.25, "stage": "sort", "class": "c"}\n'
    )
    assert found == [Arrival(0.0, "a@x"), Arrival(2.0, "b@x", "c", "sort", 0.25)]


def test_a_trace_is_never_held_whole() -> None:
    taken = 0

    def lines() -> Iterator[bytes]:
        nonlocal taken
        yield b"time,sender\n"
        for number in range(10**9):
            taken += 1
            yield b"%d,a@x\n" % number

    arrivals = trace.read(lines(), "-", ["sort"])
    assert [next(arrivals).time for _ in range(3)] == [0.0, 1.0, 2.0]
    assert taken == 3


@pytest.mark.parametrize(
    ("text", "line", "mend"),
    [
        ("0,a@x\n", 1, "no time and no sender; the first line of CSV names the columns"),
        ("time,sender,stgae\n", 1, "unknown column 'stgae'; there are time, sender"),
        ("time,sender,time\n", 1, "leave one out"),
        ("time,sender\n2,a\n1,b\n", 3, "sort the trace by time"),
        ("time,sender\nnoon,a\n", 2, "expected a time in seconds, or a date such as"),
        ("time,sender\nnan,a\n", 2, "expected a time that ends"),
        ("time,sender\n1,a,b\n", 2, "3 fields, but the first line names 2"),
        ('time,sender\n1,"a\n', 2, "quote fields as RFC 4180 says"),
        ("time,sender,stage\n1,a,nowhere\n", 2, "no stage 'nowhere'; there are sort, relay"),
        ("time,sender,service\n1,a,soon\n", 2, "service: expected a duration such as"),
        ("time,sender\n1," + "a" * 2000 + "\n", 2, "expected a sender of at most 1000 characters"),
        ("time,sender\n1," + "a" * 70_000 + "\n", 2, "a line has at most 65536 bytes"),
        (b"time,sender\n1,\xff\n", 2, "this is no UTF-8; convert the trace with iconv"),
        ('{"time": 1, "sender": "a"}\n[1]\n', 2, "expected one JSON object, such as"),
        ('{"time": 1, "sender": "a"}\n{"time": 2, "sender": 3}\n', 2, "expected a sender"),
        ('{"time": 1, "sender": "a", "service": -1}\n', 1, "expected seconds that are not negative"),
        ("time,sender,class\n" + "".join(f"{n},a,c{n}\n" for n in range(21)), 22, "more than 20 classes"),
    ],
)
def test_an_error_names_the_line_and_what_to_do(text: str | bytes, line: int, mend: str) -> None:
    with pytest.raises(SimulationError) as caught:
        read(text)
    assert str(caught.value).startswith(f"day.csv:{line}: ")
    assert mend in str(caught.value)


def test_an_empty_trace_is_no_mail() -> None:
    assert read("") == []
    assert read("time,sender\n") == []
