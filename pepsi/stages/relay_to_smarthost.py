"""The stage ``relay-to-smarthost``: hands messages to one other mail server."""

import math
import os
from dataclasses import dataclass
from pathlib import Path

from pepsi.config.option import Computed
from pepsi.config.options import LONGEST, SHORTEST
from pepsi.config.secrets import read_password
from pepsi.relay.channel import Wrap
from pepsi.relay.client import Client
from pepsi.relay.host import Host, Login, Timeouts, TlsPolicy
from pepsi.relay.letter import letter_of
from pepsi.stages.api import (
    Message,
    Need,
    Options,
    Outcome,
    Stage,
    boolean,
    choice,
    duration,
    integer,
    path,
    secret,
    text,
)
from pepsi.stages.api import host as host_name
from pepsi.stages.results import conclude, spread, time_for_message


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayToSmarthostOptions(Options):
    """The keys of the stage ``relay-to-smarthost``."""

    host: str = text(required=True, doc="The server's name, or its address.")
    port: int = integer(587, low=1, high=65535, doc="The server's port.")
    tls: TlsPolicy = choice(  # noqa: RUF009
        "verify",
        choices=TlsPolicy,
        doc="What a connection needs before mail goes over it: verify (TLS, with a certificate that names HOST and is "
        "of a trusted authority), encrypt (TLS, any certificate), may (TLS if that works) or none.",
    )
    implicit_tls: bool = boolean(
        "no", doc="Whether TLS begins with the connection, as on port 465, and not with STARTTLS."
    )
    ca_file: Path | None = path(  # noqa: RUF009
        None,
        unset="those that the system trusts",
        doc="A file with the certificates of the authorities that are trusted, in PEM form.",
    )
    user: str | None = text(None, unset="no log-in", doc="The name to log in with, by AUTH PLAIN or AUTH LOGIN.")
    password_file: str | None = secret(None, doc="Where the password to log in with is kept.")
    password_in_clear: bool = boolean(
        "no", doc="Whether the password may be sent to another machine without TLS, for everybody on the way to read."
    )
    hostname: str = host_name(Computed("HOSTNAME of [pepsi]"), doc="The name that we give ourselves in EHLO.")
    force_8bit: bool = boolean(
        "no",
        doc="Whether messages with 8-bit text are sent even if the server does not offer 8BITMIME. Otherwise they are "
        "refused then.",
    )
    connect_timeout: float = duration(
        "30 s", low=SHORTEST, high=LONGEST, doc="How long a connection may take to be made."
    )
    command_timeout: float = duration(
        "90 s", low=SHORTEST, high=LONGEST, doc="How long the server may take to answer a command."
    )
    data_timeout: float = duration(
        "90 s", low=SHORTEST, high=LONGEST, doc="How long the server may take nothing of a message that is being sent."
    )
    final_timeout: float = duration(
        "3 min", low=SHORTEST, high=LONGEST, doc="How long the server may take to answer a whole message."
    )
    connection_idle: float = duration(
        "10 s", low=0, high=LONGEST, doc="How long a connection may have been idle to be used for another message."
    )

    def __post_init__(self) -> None:
        if (self.user is None) != (self.password_file is None):
            raise ValueError("expected both of USER and PASSWORD_FILE, or neither")
        if self.implicit_tls and self.tls is TlsPolicy.NONE:
            raise ValueError("expected another value of TLS than none where IMPLICIT_TLS = yes")
        if self.ca_file is not None and self.tls is not TlsPolicy.VERIFY:
            raise ValueError("expected TLS = verify where there is a CA_FILE: nothing else looks at certificates")
        _check_times(self)


class RelayToSmarthost(Stage[RelayToSmarthostOptions]):
    """Sends messages over SMTP to HOST, which takes care of the rest.

    A connection is kept from one message to the next. Each recipient has a result of its own: whom the server takes is
    done with or goes on to NEXT_STAGE, whom it refuses goes to BOUNCE_STAGE, and who must wait is tried again.
    """

    name = "relay-to-smarthost"
    needs = Need.BODY
    Options = RelayToSmarthostOptions
    acts_outside = True

    _client: Client

    def open(self, options: RelayToSmarthostOptions) -> None:
        """Read the password and what TLS needs; the connection is made for the first message."""
        login = None
        if options.user is not None and options.password_file is not None:
            login = Login(options.user, read_password(options.password_file, os.environ))
        server = Host(
            name=options.host,
            port=options.port,
            helo=options.hostname,
            policy=options.tls,
            wrap=_wrap(options),
            implicit=options.implicit_tls,
            login=login,
            login_in_clear=options.password_in_clear,
            force_8bit=options.force_8bit,
            timeouts=Timeouts(
                connect=options.connect_timeout,
                command=options.command_timeout,
                block=options.data_timeout,
                final=options.final_timeout,
            ),
        )
        self._client = Client(server, idle=options.connection_idle)

    def process(self, message: Message, options: RelayToSmarthostOptions) -> Outcome:
        """Offer the message for all its recipients."""
        answers = self._client.send(letter_of(message), time_for_message(options))
        return conclude(message, options, spread(answers, message.recipients))

    def close(self) -> None:
        """End the session."""
        self._client.close()


def _check_times(options: RelayToSmarthostOptions) -> None:
    """See that every time-out can be used up within the time for a message, and the final one even after another.

    Where MAX_RUNTIME is not known yet there is nothing to see. Raises ValueError.
    """
    if options.max_runtime is None:
        return
    times = {
        "CONNECT_TIMEOUT": options.connect_timeout,
        "COMMAND_TIMEOUT": options.command_timeout,
        "DATA_TIMEOUT": options.data_timeout,
    }
    key = max(times, key=lambda each: times[each])
    needed, given = times[key] + options.final_timeout, time_for_message(options)
    if needed > given:
        raise ValueError(
            f"expected {key} and FINAL_TIMEOUT to be no more together than nine tenths of MAX_RUNTIME, which are "
            f"{given:g} s, not {needed:g} s: shorten them, or set MAX_RUNTIME = {math.ceil(needed / 0.9)} s"
        )


def _wrap(options: RelayToSmarthostOptions) -> Wrap | None:
    if options.tls is TlsPolicy.NONE:
        return None
    # Imported here: it brings ssl with it, which a worker without TLS can do without.
    from pepsi.relay.tls import wrapping

    return wrapping(options.host, verify=options.tls is TlsPolicy.VERIFY, ca_file=options.ca_file)
