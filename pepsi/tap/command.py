"""What the programs that run under the reactor share: common options, the log, signals, and the exit status.

A service is built once from the configuration and runs either under the console script (``serve``) or under twistd
(``make_service``). Either way it ends with 0 after SIGTERM, SIGINT or SIGHUP, and with the status of its
``Ending`` else. SIGHUP makes a service that can do so read its configuration again, if no terminal can have sent it.
"""

import argparse
import atexit
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, ClassVar, cast

from twisted.application.service import IService
from twisted.internet import reactor
from twisted.internet.interfaces import IReactorFromThreads
from twisted.logger import Logger
from twisted.python import usage

from pepsi.config.load import Config, load, locate
from pepsi.db.target import is_embedded
from pepsi.errors import EX_ERROR, EX_OK, ConfigError, PepsiError
from pepsi.tap.log import begin_logging
from pepsi.tools import common
from pepsi.worker.section import problems_of


class Ending:
    """How the process ends. There is one for a process; whatever must stop it calls ``fail``, from the reactor thread.

    *status* is 0 until then: a signal is the normal way to end. *trace*: somebody reads what is logged at debug,
    so that it is worth making.
    """

    log = Logger()

    def __init__(self, *, trace: bool = False) -> None:
        self.status = EX_OK
        self.trace = trace
        self.reason = ""
        self._stopping = False
        self._signalled = False
        self._reload: Callable[[], None] | None = None
        self._has_terminal = True

    def fail(self, reason: str, status: int = EX_ERROR) -> None:
        """Log *reason*, stop the reactor in good order, and end with *status*. Only the first failure counts.

        May be called before the reactor runs: it then stops as soon as it does.
        """
        # A line each: within one event the ends of lines would be escaped, and a whole list of errors hard to read.
        for line in reason.splitlines():
            self.log.critical("{reason}", reason=line)
        if self.status == EX_OK:
            self.status, self.reason = status, reason
        reactor.callWhenRunning(self.stop)

    def stop(self) -> None:
        """Stop the running reactor in good order. Harmless when repeated."""
        if not self._stopping:
            self._stopping = True
            reactor.stop()

    def reload_by(self, callback: Callable[[], None]) -> None:
        """Let SIGHUP call *callback* where there is no terminal that could have been closed."""
        self._reload = callback

    def heed_signals(self) -> None:
        """Let SIGTERM, SIGINT and SIGHUP stop the reactor; a further SIGTERM or SIGINT ends the process at once.

        SIGHUP comes when the terminal is closed. Whoever had it ignored when we were started wants us to go on. A
        process without a terminal gets it from somebody who wants the configuration to be read again.

        Takes effect at once, for what is started before the reactor runs; and again when it does: only then are its own
        handlers in place, which twistd would report as death by the signal.
        """
        self._install()
        reactor.callWhenRunning(self._install)

    def _install(self) -> None:
        # Now, and not when it comes: a terminal that was closed is no longer there.
        self._has_terminal = _has_terminal()
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        # nohup has it ignored: the program is to outlive its terminal.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP and self._reload is not None and not self._has_terminal:
            cast(IReactorFromThreads, reactor).callFromThread(self._reload)
            return
        if self._signalled:
            # A terminal that goes may say so twice, by the kernel and by the shell, and nobody is in a hurry.
            if number != signal.SIGHUP:
                os._exit(self.status or EX_ERROR)
            return
        self._signalled = True
        cast(IReactorFromThreads, reactor).callFromThread(self._stop_by, signal.Signals(number).name)

    def _stop_by(self, name: str) -> None:
        self.log.info("{signal}: stopping; once more to end at once", signal=name)
        self.stop()


Build = Callable[[Config, Ending], IService]
"""Makes the service. May raise PepsiError; what goes wrong once the service runs is told to the Ending."""


def parser(prog: str, description: str, examples: str) -> argparse.ArgumentParser:
    """Return an argument parser with the options that every service has. Subcommands are the caller's to add."""
    made = common.parser(prog, description, examples)
    made.add_argument("-v", "--verbose", action="store_true", help="log what the libraries have to say, too")
    made.add_argument("--log-json", action="store_true", help="log one JSON object a line")
    return made


class TwistdOptions(usage.Options):
    """The options of a Pepsi service under twistd, which has its own for the log."""

    optParameters: ClassVar[Sequence[Sequence[str | None]]] = [
        ["config", "c", None, "the configuration file (default: see pepsi.conf(5))"]
    ]


def keep_time() -> None:
    """Let the reactor's timers run by the monotonic clock.

    By default they run by the wall clock, and whoever sets that back by an hour stops every timer for an hour. To be
    called before anything is scheduled.
    """
    cast(Any, reactor).seconds = time.monotonic


def serve(arguments: argparse.Namespace, prog: str, build: Build) -> int:
    """Run the service until a signal or its Ending, and return the exit status. *arguments* are of ``parser``."""
    begin_logging(sys.stderr, level=arguments.log, libraries=arguments.verbose, as_json=arguments.log_json)
    keep_time()
    ending = Ending(trace=arguments.log == "debug")
    try:
        service = build(read_config(arguments.config), ending)
        # Not sooner: a signal that comes while something blocks would be heeded when that is over.
        ending.heed_signals()
        service.privilegedStartService()  # type: ignore[no-untyped-call]
        service.startService()  # type: ignore[no-untyped-call]
    except PepsiError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return error.exit_status
    reactor.addSystemEventTrigger("before", "shutdown", service.stopService)
    reactor.run()
    return ending.status


def make_service(options: TwistdOptions, prog: str, build: Build) -> IService:
    """Return the service for twistd, which starts and stops it."""
    keep_time()
    ending = Ending()
    try:
        config = read_config(options["config"])
        twistd = options.parent
        if is_embedded(config) and twistd is not None and not twistd["nodaemon"]:
            raise ConfigError(
                "DSN = embedded needs 'twistd -n': the private server would end with the process that twistd forks from"
            )
        service = build(config, ending)
    except PepsiError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        # The only exception that twistd lets through with a status: it would print a traceback of any other.
        raise SystemExit(error.exit_status) from error
    ending.heed_signals()
    atexit.register(_leave, ending)
    return service


def read_config(argument: str | None) -> Config:
    """Find and read the configuration, and log its warnings. Raises ConfigError."""
    config = load(locate(argument, os.environ), own_keys=problems_of)
    for warning in config.warnings:
        Ending.log.warn("{warning}", warning=warning)
    return config


def _has_terminal() -> bool:
    try:
        os.close(os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _leave(ending: Ending) -> None:
    # twistd itself ends with 0 whenever the reactor was stopped. Registered last, this runs before all else at exit.
    if ending.status != EX_OK:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ending.status)
