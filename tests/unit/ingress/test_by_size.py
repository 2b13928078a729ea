"""What storing a large message costs the others: neither time nor, beyond what is set aside, memory."""

import tracemalloc

import pytest

from pepsi.config.ingress_options import STORING_COST, Ingress
from pepsi.db.inject import insert
from pepsi.ingress.dataphase import DataPhase
from pepsi.ingress.inserter import LARGE, BySize
from pepsi.model.envelope import Arrival
from tests.fakes import MemoryStore

MIB = 2**20


def arrival(size: int) -> Arrival:
    header = b"Subject: x\r\n\r\n"
    return Arrival(mail_from="", recipients=("b@here.example",), message=header + b"x" * (size - len(header)))


def test_small_mail_does_not_wait_for_large_mail():
    small, large = MemoryStore(), MemoryStore()
    large.slow = True
    store = BySize(small, large)
    waiting = store.submit(arrival(LARGE))
    answered = store.submit(arrival(LARGE - 1))
    assert (waiting.called, answered.called) == (False, True)
    large.catch_up()
    assert waiting.called


def test_neither_the_end_of_a_message_nor_its_statement_copies_its_body():
    phase = DataPhase(20 * MIB)
    phase.feed(b"Subject: x\r\n\r\n" + b"x" * (8 * MIB))
    assert phase.feed(b"\r\n.\r\n") == b""
    tracemalloc.start()
    try:
        message = phase.message(b"Received: x\r\n")
        assert phase.kept == 0
        statement = insert([Arrival(mail_from="", recipients=("b@here.example",), message=message)], "entry")
        kept, _ = tracemalloc.get_traced_memory()
        assert kept < 8.5 * MIB
        (body,) = statement.params["bodies"]
        assert len(body.getquoted()) < 8 * MIB * 1.4
    finally:
        tracemalloc.stop()


def test_what_storing_the_largest_message_takes_is_set_aside():
    options = Ingress(entry_stage="entry", max_message_size=10 * MIB, max_memory=100 * MIB)
    assert options.message_room == (100 - 10 * STORING_COST) * MIB
    with pytest.raises(ValueError, match="MAX_MEMORY must be at least 7 x MAX_MESSAGE_SIZE"):
        Ingress(entry_stage="entry", max_message_size=10 * MIB, max_memory=69 * MIB)
