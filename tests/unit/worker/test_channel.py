"""The worker's end of the pipe, over a real one."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pepsi.errors import WireError
from pepsi.worker.channel import Channel, End


class Pipe:
    """A channel, and the dispatcher's ends of it."""

    def __init__(self) -> None:
        self.inbox, self.ids = os.pipe()
        self.answers, self.outbox = os.pipe()
        self.channel = Channel(self.inbox, self.outbox)
        self._open = {self.inbox, self.ids, self.answers, self.outbox}

    def close(self, *descriptors: int) -> None:
        for descriptor in descriptors or tuple(self._open):
            os.close(descriptor)
            self._open.discard(descriptor)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


def test_nothing_written_is_no_id_and_no_end(pipe: Pipe) -> None:
    assert pipe.channel.next() == []


def test_ids_come_one_by_one_in_order(pipe: Pipe) -> None:
    os.write(pipe.ids, b"1\n22\n333\n")
    assert [pipe.channel.next() for _ in range(4)] == [[1], [22], [333], []]


def test_as_many_ids_are_taken_at_once_as_are_asked_for(pipe: Pipe) -> None:
    os.write(pipe.ids, b"1\n2\n3\n4\n5\n")
    assert [pipe.channel.next(3), pipe.channel.next(3)] == [[1, 2, 3], [4, 5]]


def test_an_id_that_comes_in_pieces_is_one_id(pipe: Pipe) -> None:
    os.write(pipe.ids, b"12")
    assert pipe.channel.next() == []
    os.write(pipe.ids, b"3\n4")
    assert pipe.channel.next() == [123]
    assert pipe.channel.next() == []
    os.write(pipe.ids, b"\n")
    assert pipe.channel.next() == [4]


def test_an_end_with_nothing_unread_is_a_regular_one(pipe: Pipe) -> None:
    os.write(pipe.ids, b"1\n")
    assert pipe.channel.next() == [1]
    pipe.close(pipe.ids)
    assert pipe.channel.next() is End.CLOSED


@pytest.mark.parametrize("unread", [b"2\n", b"2", b"2\n3\n"])
def test_an_end_with_ids_unread_in_the_pipe_lets_none_of_them_begin(pipe: Pipe, unread: bytes) -> None:
    os.write(pipe.ids, b"1\n")
    assert pipe.channel.next() == [1]
    os.write(pipe.ids, unread)
    pipe.close(pipe.ids)
    assert pipe.channel.next() is End.ABANDONED


def test_an_end_with_ids_read_and_not_begun_lets_none_of_them_begin(pipe: Pipe) -> None:
    os.write(pipe.ids, b"1\n2\n")
    assert pipe.channel.next() == [1]
    pipe.close(pipe.ids)
    assert pipe.channel.next() is End.ABANDONED


@pytest.mark.parametrize("line", [b"x\n", b"\n", b"-1\n", b"1 \n", b"12345678901234567890\n", b"1\r\n", b"1" * 40])
def test_what_is_no_id_is_an_error(pipe: Pipe, line: bytes) -> None:
    os.write(pipe.ids, line)
    with pytest.raises(WireError, match="is not a message id"):
        pipe.channel.next()


def test_an_answer_is_a_line(pipe: Pipe) -> None:
    pipe.channel.say(b"ready")
    pipe.channel.say(b"0")
    assert os.read(pipe.answers, 100) == b"ready\n0\n"


def test_an_answer_that_nobody_reads_is_an_error(pipe: Pipe) -> None:
    pipe.close(pipe.answers)
    with pytest.raises(BrokenPipeError):
        pipe.channel.say(b"0")


def test_waiting_ends_with_an_id_an_end_or_another_descriptor(pipe: Pipe) -> None:
    other, wake = os.pipe()
    try:
        assert pipe.channel.wait([other], 0) == frozenset()
        os.write(wake, b"x")
        assert pipe.channel.wait([other], None) == {other}
        os.read(other, 1)
        os.write(pipe.ids, b"1\n")
        assert pipe.channel.wait([other], None) == frozenset()
        assert pipe.channel.next() == [1]
        pipe.close(pipe.ids)
        assert pipe.channel.wait([other], None) == frozenset()
    finally:
        os.close(other)
        os.close(wake)


def test_ids_from_a_file_are_all_worked_on(tmp_path: Path) -> None:
    (tmp_path / "ids").write_bytes(b"1\n2\n")
    descriptor = os.open(tmp_path / "ids", os.O_RDONLY)
    try:
        channel = Channel(descriptor, 1)
        assert [channel.next(), channel.next(), channel.next()] == [[1], [2], End.CLOSED]
    finally:
        os.close(descriptor)


def test_a_socket_that_was_shut_down_with_ids_unread_is_an_end_too() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours.fileno(), ours.fileno())
        theirs.sendall(b"1\n2\n")
        assert channel.next() == [1]
        theirs.shutdown(socket.SHUT_WR)
        assert channel.next() is End.ABANDONED
