"""Time-outs, by a clock that the test turns: nobody keeps a session by being slow, or is blamed for our own time."""

import itertools

from twisted.internet.task import Clock

from pepsi.ingress.deadline import Deadline
from pepsi.ingress.smtp import LINGER, LINGER_BYTES
from tests.support_smtp import Visit

TIMES = {"command_timeout": 100.0, "data_timeout": 50.0, "message_timeout": 200.0}


def test_a_silent_client_is_sent_away():
    visit = Visit(**TIMES)
    assert visit.wait(99) == [b"220"]
    assert visit.wait(2) == [b"421"]
    assert visit.wire.ended == "closed"


def test_a_whole_command_earns_time_and_a_part_of_one_does_not():
    visit = Visit(**TIMES)
    visit.wait(90)
    assert visit.say(b"NOOP\r\n") == [b"250"]
    for byte in itertools.islice(itertools.cycle([b"x"]), 9):
        visit.wait(10)
        assert visit.say(byte) == []
    assert visit.wait(11) == [b"421"]


def test_a_message_that_comes_drop_by_drop_must_be_whole_in_time():
    visit = Visit(**TIMES)
    visit.open_message()
    for _ in range(9):
        visit.wait(20)
        assert visit.say(b"x") == []
    assert visit.wait(19) == []
    assert visit.wait(2) == [b"421"]
    assert visit.store.arrivals == []


def test_a_client_that_falls_silent_within_a_message_is_sent_away():
    visit = Visit(**TIMES)
    visit.open_message()
    visit.wait(49)
    assert visit.say(b"x") == []
    assert visit.wait(49) == []
    assert visit.wait(2) == [b"421"]


def test_the_time_that_storing_takes_is_not_the_clients():
    visit = Visit(**TIMES)
    visit.store.slow = True
    visit.open_message()
    visit.say(b"x\r\n.\r\n")
    assert visit.wait(1000) == []
    visit.store.catch_up()
    assert visit.wire.codes() == [b"250"]
    assert visit.wait(99) == []
    assert visit.wait(2) == [b"421"]


def test_who_does_not_go_after_the_last_word_is_cut_off():
    visit = Visit(**TIMES)
    visit.say(b"QUIT\r\n")
    visit.wait(LINGER - 1)
    assert visit.wire.ended == "closed"
    visit.wait(2)
    assert visit.wire.ended == "aborted"


def test_who_goes_on_after_the_last_word_is_cut_off_before_the_time_is_over():
    visit = Visit(**TIMES)
    visit.say(b"QUIT\r\n" + b"x" * 1000)
    visit.say(b"x" * LINGER_BYTES)
    assert visit.wire.ended == "closed"
    visit.say(b"x")
    assert visit.wire.ended == "aborted"


def test_a_stranger_waits_for_the_greeting_and_a_trusted_client_does_not():
    stranger = Visit(**TIMES, greeting_delay=10.0)
    assert stranger.wait(9) == []
    assert stranger.wait(2) == [b"220"]
    assert stranger.say(b"NOOP\r\n") == [b"250"]
    early = Visit(**TIMES, greeting_delay=10.0)
    assert early.say(b"EHLO c\r\nMAIL FROM:<>\r\n") == [b"554"]
    assert Visit("127.0.0.1", greeting_delay=10.0).wire.codes() == [b"220"]


def test_a_session_that_is_over_leaves_no_timer_behind():
    visit = Visit(**TIMES)
    visit.session.connectionLost()
    assert visit.clock.getDelayedCalls() == []


def test_a_deadline_can_be_moved_both_ways():
    clock, expired = Clock(), []
    deadline = Deadline(clock, lambda: expired.append(clock.seconds()))
    deadline.set(10)
    deadline.set(20)
    clock.advance(15)
    assert expired == []
    deadline.set(1)
    clock.advance(1)
    assert expired == [16]
    deadline.set(5)
    deadline.clear()
    clock.advance(10)
    assert expired == [16]
    deadline.set(5)
    deadline.stop()
    assert clock.getDelayedCalls() == []
