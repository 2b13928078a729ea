"""The SMTP door as a service: its listeners, its sessions, and their end."""

from collections.abc import Callable, Sequence
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, TimeoutError, ensureDeferred
from twisted.internet.interfaces import IListeningPort
from twisted.logger import Logger
from twisted.python.failure import Failure

from pepsi.ingress.door import Door
from pepsi.ingress.smtp import SmtpFactory
from pepsi.model.text import one_line
from pepsi.reactor.chain import each_of
from pepsi.reactor.listening import endpoint, shown


class DoorService(Service):
    """Listens at the *endpoints*, which are Twisted's endpoint strings.

    What keeps it from listening is told to *fail*. Raises ConfigError for a string that is no endpoint.
    """

    log = Logger()

    def __init__(self, reactor: Any, door: Door, endpoints: Sequence[str], fail: Callable[[str], None]) -> None:
        self._reactor = reactor
        self._door = door
        self._endpoints = [(string, endpoint(reactor, string, "[pepsi-ingress] LISTEN")) for string in endpoints]
        self._fail = fail
        self._ports: list[IListeningPort] = []

    @property
    def addresses(self) -> list[str]:
        """Where clients can connect: ``host:port`` with the real port, or the path of a socket."""
        return [shown(port.getHost()) for port in self._ports]

    def privilegedStartService(self) -> None:
        """Listen. Under twistd this is the time when ports below 1024 can be had."""
        if self._door.verifier is not None:
            self._door.verifier.start()
        factory = SmtpFactory(self._door)
        for string, place in self._endpoints:
            place.listen(factory).addCallbacks(self._listening, self._deaf, errbackArgs=(string,))

    def stopService(self) -> "Deferred[None]":
        """Let nobody in any more; let messages under way come to their end, within SHUTDOWN_TIMEOUT."""
        super().stopService()  # type: ignore[no-untyped-call]
        ports, self._ports = self._ports, []
        verifier = self._door.verifier
        return ensureDeferred(
            each_of(
                *(port.stopListening for port in ports),
                lambda: ensureDeferred(self._end_sessions()),
                *(() if verifier is None else (verifier.stop,)),
            )
        )

    async def _end_sessions(self) -> None:
        sessions = self._door.sessions
        if len(sessions):
            self.log.info("waiting for {count} sessions", count=len(sessions))
        sessions.stop()
        try:
            await sessions.emptied().addTimeout(self._door.options.shutdown_timeout, self._reactor)
        except TimeoutError:
            self.log.warn("cutting {count} sessions off", count=len(sessions))
            sessions.abort()
            await sessions.emptied()

    def _listening(self, port: IListeningPort) -> None:
        self._ports.append(port)
        self.log.info("listening on {address}", address=shown(port.getHost()))

    def _deaf(self, failure: Failure, string: str) -> None:
        self._fail(f"cannot listen on {string}: {one_line(failure.getErrorMessage())}")
