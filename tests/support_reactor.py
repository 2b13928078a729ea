"""Tests that run in the reactor: ``@with_timeout(5)`` above an ``async def``."""

import functools
import gc
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import defer, reactor, task
from twisted.python import log


def with_timeout(seconds: float = 10) -> Callable[[Callable[..., Awaitable[Any]]], Callable[..., Any]]:
    """Run an ``async def`` test in the reactor, let it fail after *seconds*, and see that it leaves nothing behind."""

    def decorate(test: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        @functools.wraps(test)
        async def bounded(*args: Any, **kwargs: Any) -> Any:
            return await defer.ensureDeferred(test(*args, **kwargs)).addTimeout(seconds, reactor)

        return pytest.mark.usefixtures("clean_reactor")(pytest_twisted.ensureDeferred(bounded))

    return decorate


def watched_reactor() -> Iterator[list[dict[str, Any]]]:
    """Fail the test that leaves timers, sockets or unhandled errors behind. Yields the errors logged so far."""
    readers, calls = set(reactor.getReaders()), set(reactor.getDelayedCalls())
    lost: list[dict[str, Any]] = []

    def observe(event: dict[str, Any]) -> None:
        if event.get("isError"):
            lost.append(event)

    log.addObserver(observe)
    yield lost
    gc.collect()
    pytest_twisted.blockon(task.deferLater(reactor, 0, lambda: None))
    log.removeObserver(observe)
    late = [call for call in reactor.getDelayedCalls() if call.active() and call not in calls]
    # Never the reactor's own wakers: without the one for SIGCHLD no child is reaped any more.
    open_readers = set(reactor.getReaders()) - readers - set(reactor._internalReaders)
    for call in late:
        call.cancel()
    for reader in open_readers:
        reactor.removeReader(reader)
    problems = [
        *(str(event.get("failure", event)) for event in lost),
        *(f"left timer {call}" for call in late),
        *(f"left reader {reader!r}" for reader in open_readers),
    ]
    if problems:
        pytest.fail("unclean test: " + "; ".join(problems), pytrace=False)
