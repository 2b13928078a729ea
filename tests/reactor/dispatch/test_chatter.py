"""What workers say on their standard error: whole lines, bounded, and no more of them than a log can bear."""

import pytest
from twisted.internet.task import Clock

from pepsi.dispatch.chatter import BURST, LINE_LIMIT, PERIOD, Chatter


class Log:
    def __init__(self, clock: Clock) -> None:
        self.lines: list[str] = []
        self.chatter = Chatter(self.lines.append, clock.seconds)


@pytest.fixture
def log(clock: Clock) -> Log:
    return Log(clock)


def test_lines_are_logged_when_they_are_whole(log: Log) -> None:
    log.chatter.feed(b"one\ntw")
    assert log.lines == ["one"]
    log.chatter.feed(b"o\n\nthree\r\n")
    assert log.lines == ["one", "two", "three"]
    log.chatter.feed(b"the last")
    log.chatter.close()
    assert log.lines[3:] == ["the last"]


def test_it_does_not_matter_where_a_read_ends(clock: Clock) -> None:
    said = b"first\nsecond line\n" + b"y" * (LINE_LIMIT + 5) + b"\nthird\n"
    whole = Log(clock)
    whole.chatter.feed(said)
    for size in (1, 7, LINE_LIMIT - 1, LINE_LIMIT, LINE_LIMIT + 1):
        pieces = Log(clock)
        for start in range(0, len(said), size):
            pieces.chatter.feed(said[start : start + size])
        assert pieces.lines == whole.lines, size


def test_a_line_is_cut_at_its_limit_and_said_to_be(log: Log) -> None:
    log.chatter.feed(b"x" * LINE_LIMIT + b"\n" + b"y" * (LINE_LIMIT + 1) + b"\nz\n")
    assert log.lines == ["x" * LINE_LIMIT, "y" * LINE_LIMIT + " [cut]", "z"]


def test_an_endless_line_is_logged_once_and_takes_no_memory(log: Log) -> None:
    for _ in range(1000):
        log.chatter.feed(b"x" * 65536)
    assert log.lines == ["x" * LINE_LIMIT + " [cut]"]
    log.chatter.feed(b"the rest\nnext\n")
    assert log.lines[1:] == ["next"]


@pytest.mark.parametrize(
    ("said", "logged"),
    [
        (b"\x1b[31mred\x07\n", r"\x1b[31mred\x07"),
        (b"a\0b\n", r"a\x00b"),
        (b"a\rb\n", r"a\rb"),
        (b"a\tb\n", "a\tb"),
        (b"caf\xc3\xa9\n", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        (b"\xff\xfe\n", r"\xff\xfe"),
        ("a\N{RIGHT-TO-LEFT OVERRIDE}b\u2028c\n".encode(), r"a\u202eb\u2028c"),
        (b"{not} %s a format\n", "{not} %s a format"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_instead(log: Log, said: bytes, logged: str) -> None:
    log.chatter.feed(said)
    assert log.lines == [logged]


def test_a_flood_is_cut_off_and_counted(log: Log, clock: Clock) -> None:
    log.chatter.feed(b"line\n" * (BURST + 50))
    assert len(log.lines) == BURST
    clock.advance(PERIOD)
    log.chatter.feed(b"again\n")
    assert log.lines[BURST:] == ["[50 more lines left out]", "again"]


def test_what_was_left_out_is_told_at_the_end(log: Log) -> None:
    log.chatter.feed(b"line\n" * (BURST + 3))
    log.chatter.close()
    assert log.lines[BURST:] == ["[3 more lines left out]"]


def test_an_orderly_worker_is_never_cut_off(log: Log, clock: Clock) -> None:
    for _ in range(20):
        log.chatter.feed(b"line\n" * BURST)
        clock.advance(PERIOD)
    assert len(log.lines) == 20 * BURST
