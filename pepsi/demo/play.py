"""The demo: lays out a folder, runs everything in it, sends the samples, and looks whether they arrived."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO, cast

from twisted.application.service import Service
from twisted.internet import defer, reactor, task, threads
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.failure import Failure

from pepsi.config.load import load
from pepsi.db.session import Parameters
from pepsi.demo import check, client, trail
from pepsi.demo.display import display_on
from pepsi.demo.samples import Fate, Sample, due, samples
from pepsi.demo.sink import Memory, make_sink
from pepsi.demo.story import Story, stories
from pepsi.demo.workplace import Workplace, lay_out
from pepsi.errors import EX_ERROR, PepsiError
from pepsi.ingress.service import DoorService
from pepsi.reactor.session import Session
from pepsi.tap.command import Ending, keep_time
from pepsi.tap.log import begin_logging
from pepsi.tap.up import Whole, assemble

PATIENCE = 120.0
"""Seconds after which mail that has not come to its end is given up."""
LOOK = 0.2


class DemoFailed(PepsiError):
    """Not all mail has arrived as it was sent."""


def run(*, stay: bool, port: int, folder: Path | None, out: TextIO) -> int:
    """Play the demo and return the exit status. *folder* is kept; without one a temporary folder is used."""
    place = Path(tempfile.mkdtemp(prefix="pepsi-demo-")) if folder is None else folder
    try:
        place.mkdir(parents=True, exist_ok=True)
        # The private server may have to run as another account, and must get to its directory below.
        place.chmod(0o711)
        log = (place / "log").open("w")
    except OSError as error:
        print(f"pepsi: {error.filename}: {error.strerror}; name another --folder", file=sys.stderr)
        return EX_ERROR
    keep_time()
    ending = Ending()
    with log:
        begin_logging(log)
        stage = Stage(place, out, ending, stay=stay, port=port)
        reactor.callWhenRunning(stage.startService)
        reactor.addSystemEventTrigger("before", "shutdown", stage.stopService)
        ending.heed_signals()
        reactor.run()
    if ending.status:
        print(f"pepsi: {ending.reason}; the log of it all is {place / 'log'}", file=sys.stderr)
    elif folder is None:
        shutil.rmtree(place)
    return ending.status


class Stage(Service):
    """The running demo."""

    def __init__(self, folder: Path, out: TextIO, ending: Ending, *, stay: bool, port: int) -> None:
        self._folder = folder
        self._out = out
        self._ending = ending
        self._stay = stay
        self._port = port
        self._memory = Memory()
        self._sink: DoorService | None = None
        self._whole: Whole | None = None
        self._session: Session | None = None
        self._playing: defer.Deferred[None] | None = None

    def startService(self) -> None:
        """Begin."""
        super().startService()  # type: ignore[no-untyped-call]
        self._playing = defer.ensureDeferred(self._play())
        self._playing.addErrback(self._failed)

    def stopService(self) -> "defer.Deferred[None]":
        """Take everything down again, the one that others lean on last."""
        super().stopService()  # type: ignore[no-untyped-call]
        return defer.ensureDeferred(self._strike())

    async def _strike(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
        if self._session is not None:
            await self._session.stop()
        for service in (None if self._whole is None else self._whole.service, self._sink):
            if service is not None:
                await defer.maybeDeferred(service.stopService)

    async def _play(self) -> None:
        sink = self._sink = make_sink(reactor, self._memory, self._ending.fail)
        sink.privilegedStartService()
        await _eventually(lambda: bool(sink.addresses))
        place = lay_out(self._folder, smtp_port=self._port, sink_port=_port_of(sink))
        self._say("Starting a private PostgreSQL server, the dispatcher and the SMTP door ...")
        whole = self._whole = assemble(load(place.configuration), self._ending)
        whole.service.privilegedStartService()  # type: ignore[no-untyped-call]
        whole.service.startService()  # type: ignore[no-untyped-call]
        await whole.dispatcher.started
        await _eventually(lambda: bool(whole.door.addresses))
        session = self._session = Session(reactor, Parameters(dsn=whole.dsn, application_name="pepsi demo"), "demo")
        await session.open()
        await session.run(trail.keep())
        sent = samples()
        self._say(f"Sending {len(sent)} messages to {whole.door.addresses[0]}.")
        told = await self._watch(session, _port_of(whole.door), sent)
        self._judge(place, sent, told)
        if self._stay:
            self._invite(place, _port_of(whole.door))
        else:
            self._ending.stop()

    async def _watch(self, session: Session, port: int, sent: tuple[Sample, ...]) -> tuple[Story, ...]:
        """Send, and show how the messages get on until the last has come to its end."""
        names: dict[int, str] = {}

        def taken(number: int, sample: Sample) -> None:
            cast(IReactorFromThreads, reactor).callFromThread(names.__setitem__, number, sample.name)

        sending = threads.deferToThread(client.send, "127.0.0.1", port, sent, taken)
        display = display_on(self._out)
        told: tuple[Story, ...] = ()
        waited = 0.0
        try:
            while waited < PATIENCE:
                told = stories(trail.steps(await session.run(trail.read())), names)
                display.show(told)
                if len(names) == len(sent) and all(story.ending is not None for story in told):
                    break
                if sending.called and len(names) < len(sent):
                    await sending
                await task.deferLater(reactor, LOOK)
                waited += LOOK
        finally:
            display.close(told)
        await sending
        return told

    def _judge(self, place: Workplace, sent: tuple[Sample, ...], told: tuple[Story, ...]) -> None:
        found = {
            "mailboxes": check.compare(due(sent, Fate.MAILBOX), place.delivered()),
            "sink": check.compare(due(sent, Fate.RELAYED), [arrival.message for arrival in self._memory.arrivals]),
        }
        for line in check.report(found):
            self._say(line)
        stuck = [story.name for story in told if story.ending is None]
        if stuck:
            raise DemoFailed(f"still on their way after {PATIENCE:g} s: {', '.join(stuck)}")
        if not all(findings.good for findings in found.values()):
            raise DemoFailed("not everything has arrived as it was sent")

    def _invite(self, place: Workplace, port: int) -> None:
        self._say("")
        self._say("It keeps running; press Ctrl-C to end it. Send mail to it, for example:")
        self._say(
            f"  printf 'Subject: hello\\n\\nHello.\\n' | curl -sS --crlf smtp://127.0.0.1:{port} "
            "--mail-from you@pepsi.example --mail-rcpt bob@pepsi.example -T -"
        )
        self._say(f"Mail to somebody@pepsi.example lands below {place.mailboxes}, other mail in the sink.")
        self._say(f"The configuration is {place.configuration}, the log {place.folder / 'log'}.")

    def _failed(self, failure: Failure) -> None:
        if isinstance(failure.value, defer.CancelledError):
            return
        if isinstance(failure.value, BrokenPipeError):
            # Whoever watched has seen enough. What is still buffered must not fail once more when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
        elif not isinstance(failure.value, PepsiError):
            failure.printTraceback(sys.stderr)  # type: ignore[no-untyped-call]
        self._ending.fail(failure.getErrorMessage(), EX_ERROR)

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def _port_of(door: DoorService) -> int:
    return int(door.addresses[0].rpartition(":")[2])


async def _eventually(condition: Callable[[], bool]) -> None:
    while not condition():
        await task.deferLater(reactor, 0.01)
