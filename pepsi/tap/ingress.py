"""The SMTP door from the command line and under twistd."""

import getpass
import os
import resource
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from twisted.application.service import IService, MultiService, Service
from twisted.internet import defer, reactor
from twisted.internet.interfaces import IReactorFromThreads
from twisted.logger import Logger

from pepsi.config.load import Config
from pepsi.config.secrets import read_secret, secret_path
from pepsi.db.session import Parameters
from pepsi.errors import EX_OK, ConfigError, IngressError, PepsiError
from pepsi.ingress.acceptance import Terms
from pepsi.ingress.addresses import Address
from pepsi.ingress.budget import Budget
from pepsi.ingress.conversation import House
from pepsi.ingress.door import Door
from pepsi.ingress.inserter import BySize, Inserter
from pepsi.ingress.passwords import PasswordFile, set_password
from pepsi.ingress.service import DoorService
from pepsi.ingress.sessions import Sessions
from pepsi.ingress.store import Store
from pepsi.ingress.tls import ServerTls
from pepsi.ingress.verifier import Verifier
from pepsi.reactor.chain import Chain
from pepsi.reactor.session import Session
from pepsi.tap import command
from pepsi.tap.command import Ending, TwistdOptions
from pepsi.tap.database import add_database

PROG = "pepsi-ingress"
EXAMPLES = """\
  pepsi-ingress serve                                take mail with the configuration found by the usual search
  pepsi-ingress -c /etc/pepsi/pepsi.conf serve       take mail with this one
  pepsi-ingress -c pepsi.conf passwd alice           ask for a password, and let alice log in with it
  printf '%s\\n' "$secret" | pepsi-ingress passwd bob  the same from a script
  pepsi-ingress passwd --delete bob                  let bob log in no more
  twistd -n pepsi-ingress --config pepsi.conf        the same service under twistd

exit status: 0 stopped in good order, or done; 1 an error; 2 usage"""

OTHER_DESCRIPTORS = 64
"""File descriptors that are kept for everything but sessions: listeners, the database, logs, passwords."""

Options = TwistdOptions
log = Logger()


class SessionService(Service):
    """Keeps a session of the door with PostgreSQL."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def startService(self) -> None:
        """Begin to connect; the door may open before there is a database."""
        super().startService()  # type: ignore[no-untyped-call]
        self._session.start()

    def stopService(self) -> "defer.Deferred[None]":
        """Disconnect."""
        super().stopService()  # type: ignore[no-untyped-call]
        return defer.ensureDeferred(self._session.stop())


def add_door(parent: MultiService, config: Config, dsn: str, ending: Ending) -> DoorService:
    """Make the door of *config* for the database *dsn*, and put it with its sessions under *parent*, a Chain."""
    parameters = Parameters(
        dsn=dsn,
        application_name=PROG,
        connect_timeout=config.postgres.connect_timeout,
        statement_timeout=config.postgres.statement_timeout,
    )
    own = config.ingress

    def inserter(name: str) -> Inserter:
        session = Session(reactor, parameters, name)
        SessionService(session).setServiceParent(parent)  # type: ignore[no-untyped-call]
        return Inserter(reactor, session, own.entry_stage, own.database_timeout)

    store = BySize(inserter("ingress"), inserter("ingress-large"))
    service = DoorService(reactor, make_door(config, store), own.listen, ending.fail)
    service.setServiceParent(parent)  # type: ignore[no-untyped-call]
    return service


def make_door(config: Config, store: Store) -> Door:
    """Return the door that *config* describes, in front of *store*. Raises ConfigError."""
    own = config.ingress
    tls = None
    if own.certificate_file is not None:
        tls = ServerTls(own.certificate_file, secret("KEY_FILE", own.key_file or str(own.certificate_file)))
    verifier = None
    if own.password_file is not None:
        secret("PASSWORD_FILE", own.password_file)
        is_right = PasswordFile(own.password_file, os.environ).is_right
        verifier = Verifier(cast(IReactorFromThreads, reactor), is_right)
    local, _, domain = config.pepsi.postmaster.rpartition("@")
    house = House(
        hostname=config.pepsi.hostname,
        postmaster=Address(local, domain),
        terms=Terms(
            local_domains=frozenset(own.local_domains),
            relay_networks=own.relay_networks,
            max_message_size=own.max_message_size,
            max_recipients=own.max_recipients,
            max_hops=own.max_hops,
            max_errors=own.max_errors,
        ),
        budget=Budget(own.message_room),
        offers_tls=tls is not None,
        offers_auth=verifier is not None,
    )
    return Door(
        reactor=reactor,
        options=own,
        house=house,
        sessions=Sessions(affordable_sessions(own.max_sessions), own.max_sessions_per_peer),
        store=store,
        wall_clock=time.time,
        new_id=lambda: secrets.token_hex(8),
        verifier=verifier,
        tls=tls,
    )


def affordable_sessions(wanted: int) -> int:
    """Return how many sessions there can be of those *wanted*; less than that is logged."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY or descriptors >= wanted + OTHER_DESCRIPTORS:
        return wanted
    affordable = max(1, descriptors - OTHER_DESCRIPTORS)
    log.warn(
        "only {affordable} of MAX_SESSIONS = {wanted} are let in: the limit of file descriptors is {descriptors}",
        affordable=affordable,
        wanted=wanted,
        descriptors=descriptors,
    )
    return affordable


def secret(key: str, name: str) -> Path:
    """Return the file of the secret *name*, after a look whether it can be used. Raises ConfigError, naming *key*."""
    try:
        read_secret(name, os.environ)
        return secret_path(name, os.environ)
    except ConfigError as error:
        raise ConfigError(f"[pepsi-ingress] {key}: {error}") from error
    except OSError as error:
        raise ConfigError(f"[pepsi-ingress] {key} {name}: cannot be read: {error.strerror}") from error


def build(config: Config, ending: Ending) -> IService:
    """Return the door with what it needs beside it: the private server, if that is what DSN asks for."""
    parent = Chain()  # type: ignore[no-untyped-call]
    add_door(parent, config, add_database(parent, config), ending)
    return parent


def makeService(options: TwistdOptions) -> IService:
    """What twistd calls."""
    return command.make_service(options, PROG, build)


def main(argv: Sequence[str] | None = None) -> int:
    """What the console script calls."""
    parser = command.parser(PROG, "Takes mail over SMTP and puts it into the database.", EXAMPLES)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("serve", help="take mail until SIGTERM")
    passwd = commands.add_parser("passwd", help="let a login authenticate, or change its password")
    passwd.add_argument("login", metavar="LOGIN")
    passwd.add_argument("-d", "--delete", action="store_true", help="let it authenticate no more")
    arguments = parser.parse_args(argv)
    if arguments.command == "serve":
        return command.serve(arguments, PROG, build)
    try:
        change_password(command.read_config(arguments.config), arguments.login, delete=arguments.delete)
    except (PepsiError, OSError) as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return error.exit_status if isinstance(error, PepsiError) else IngressError.exit_status
    return EX_OK


def change_password(config: Config, login: str, *, delete: bool) -> None:
    """Change the password file of *config*. The new password is asked for, or is the first line of standard input."""
    name = config.ingress.password_file
    if name is None:
        raise ConfigError("[pepsi-ingress] PASSWORD_FILE is not set; it must say which file to change")
    if "/" not in name:
        raise ConfigError(f"[pepsi-ingress] PASSWORD_FILE {name}: a credential of systemd cannot be changed from here")
    set_password(Path(name), login, None if delete else new_password())


def new_password() -> str:
    """Return the password that the user types twice, or the first line of standard input if that is no terminal."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().removesuffix("\n")
    password = getpass.getpass("New password: ")
    if getpass.getpass("Again: ") != password:
        raise IngressError("the two passwords are not the same")
    return password


if __name__ == "__main__":
    sys.exit(main())
