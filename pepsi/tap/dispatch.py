"""The dispatcher from the command line and under twistd."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from psycopg2.extensions import parse_dsn
from twisted.application.service import IService, MultiService
from twisted.internet import reactor
from twisted.logger import Logger

from pepsi.config.load import Config, load, locate
from pepsi.db.target import is_embedded
from pepsi.dispatch.program import launch
from pepsi.dispatch.service import DispatchService, Plan
from pepsi.errors import ConfigError, StageError
from pepsi.httpd.service import MetricsService
from pepsi.reactor.chain import Chain
from pepsi.reactor.systemd import Manager
from pepsi.tap import command
from pepsi.tap.command import Ending, TwistdOptions
from pepsi.tap.database import add_database
from pepsi.tap.settings import engine_settings
from pepsi.worker.section import problems_of

PROG = "pepsi-dispatch"
EXAMPLES = """\
  pepsi-dispatch serve                              run with the configuration found by the usual search
  pepsi-dispatch -c /etc/pepsi/pepsi.conf serve     run with this one
  pepsi-dispatch -L debug -c pepsi.conf serve       log each step of each message
  twistd -n pepsi-dispatch --config pepsi.conf      the same service under twistd

SIGHUP: read the configuration again, as NOTIFY config_changed in the database does
exit status: 0 stopped in good order; 1 an error; 2 usage;
  78 the database holds the schema of another release, or the configuration was changed and is wrong now"""

Options = TwistdOptions
log = Logger()

_LIBPQ = {"host": "host", "port": "port", "user": "user", "dbname": "database"}


def add_dispatcher(
    parent: MultiService, config: Config, dsn: str, ending: Ending, environ: Mapping[str, str]
) -> DispatchService:
    """Make the dispatcher of *config* for the database *dsn*, and put it under *parent*. Workers get *environ*."""
    _warn_of_another_file(config, environ)
    _warn_of_missing_programs(config, environ)
    if is_embedded(config):
        # So that a worker in any language gets to the private server with an empty libpq string.
        parts = parse_dsn(dsn)
        environ = {**environ, **{f"PG{name.upper()}": parts[key] for key, name in _LIBPQ.items() if key in parts}}
    own = config.dispatch
    service = DispatchService(
        reactor,
        reactor,
        Plan(
            dsn=dsn,
            connect_timeout=config.postgres.connect_timeout,
            statement_timeout=config.postgres.statement_timeout,
            read=lambda overlay: load(config.path, overlay=overlay, own_keys=problems_of),
            settings=engine_settings(own, trace=ending.trace),
            standby=own.standby,
            config_file=own.config_file,
            environ=environ,
        ),
        ending.fail,
        manager=Manager(environ, os.getpid()),
    )
    if own.metrics_listen is not None:
        # Before the dispatcher: an address that is taken is told at once, and a stop can be watched to its end.
        metrics = MetricsService(reactor, own.metrics_listen, service.reading, ending.fail)
        metrics.setServiceParent(parent)  # type: ignore[no-untyped-call]
    service.setServiceParent(parent)  # type: ignore[no-untyped-call]
    ending.reload_by(service.reload)
    return service


def build(config: Config, ending: Ending) -> IService:
    """Return the dispatcher with what it needs beside it: the private server, if that is what DSN asks for."""
    parent = Chain()  # type: ignore[no-untyped-call]
    add_dispatcher(parent, config, add_database(parent, config), ending, dict(os.environ))
    return parent


def makeService(options: TwistdOptions) -> IService:
    """What twistd calls."""
    return command.make_service(options, PROG, build)


def main(argv: Sequence[str] | None = None) -> int:
    """What the console script calls."""
    parser = command.parser(PROG, "Runs the stages of Pepsi on the mail that waits in the database.", EXAMPLES)
    parser.add_subparsers(dest="command", metavar="COMMAND", required=True).add_parser(
        "serve", help="run until SIGTERM", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    return command.serve(parser.parse_args(argv), PROG, build)


def _warn_of_missing_programs(config: Config, environ: Mapping[str, str]) -> None:
    """Tell at the start what would otherwise be told when mail comes."""
    for spec in config.specs.values():
        try:
            launch(spec, 0, None, environ)
        except StageError as error:
            log.error("{error}; mail will wait at that stage", error=str(error))


def _warn_of_another_file(config: Config, environ: Mapping[str, str]) -> None:
    """Tell when the workers, which look for their configuration themselves, will find another one."""
    theirs = config.dispatch.config_file
    if theirs is None:
        try:
            theirs = locate(None, environ)
        except ConfigError:
            theirs = None
    if theirs is None or theirs.resolve() != config.path.resolve():
        log.warn(
            "the dispatcher reads {ours}, its workers read {theirs}; set CONFIG_FILE of [pepsi-dispatch] to {ours}",
            ours=str(config.path),
            theirs="no file at all" if theirs is None else str(theirs),
        )


if __name__ == "__main__":
    sys.exit(main())
