"""The demo's client and the demo's sink, over a real connection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from twisted.internet import reactor
from twisted.internet.threads import deferToThread

from pepsi.demo.check import compare
from pepsi.demo.client import NotTaken, send
from pepsi.demo.samples import Fate, Sample, samples
from pepsi.demo.sink import Memory, make_sink
from tests.support_reactor import with_timeout


@asynccontextmanager
async def open_sink(memory: Memory) -> AsyncIterator[tuple[str, int]]:
    """Run a sink for the length of a block; gives its host and port."""
    sink = make_sink(reactor, memory, pytest.fail)
    sink.privilegedStartService()
    sink.startService()
    host, _, port = sink.addresses[0].rpartition(":")
    try:
        yield host, int(port)
    finally:
        await sink.stopService()


@with_timeout(30)
async def test_every_sample_reaches_the_sink_whole_and_with_its_envelope() -> None:
    memory, told = Memory(), []
    async with open_sink(memory) as (host, port):
        await deferToThread(send, host, port, samples(), lambda number, sample: told.append((number, sample.name)))
    assert told == [(number, sample.name) for number, sample in enumerate(samples(), 1)]
    findings = compare(
        {sample.name: (sample.message, 1) for sample in samples()}, [arrival.message for arrival in memory.arrivals]
    )
    assert findings.good, findings
    envelopes = [(arrival.mail_from, arrival.recipients) for arrival in memory.arrivals]
    assert envelopes == [(sample.mail_from, sample.recipients) for sample in samples()]


@with_timeout(30)
async def test_a_sample_that_is_refused_is_named_with_the_answer() -> None:
    bad = Sample(name="bad", mail_from="a@b.example", recipients=("no address",), message=b"\r\n", fate=Fate.MAILBOX)
    async with open_sink(Memory()) as (host, port):
        with pytest.raises(NotTaken, match=r"the sample bad was refused: 501 5\.1\.3"):
            await deferToThread(send, host, port, [bad], print)


@with_timeout(30)
async def test_a_server_that_is_not_there_is_named() -> None:
    async with open_sink(Memory()) as (host, port):
        pass
    with pytest.raises(NotTaken, match=f"mail cannot be sent to {host}:{port}"):
        await deferToThread(send, host, port, samples(), print)
