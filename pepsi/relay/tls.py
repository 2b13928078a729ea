"""TLS towards another host. Importing this imports ``ssl``, which costs a worker time and memory: only when needed."""

import socket
import ssl
from pathlib import Path

from pepsi.errors import ConfigError
from pepsi.relay.channel import Wrap


def wrapping(host: str, *, verify: bool, ca_file: Path | None = None) -> Wrap:
    """Return what puts TLS on a socket connected to *host*.

    With *verify* the certificate must be signed by an authority of *ca_file* (None: one that the system trusts) and
    name *host*; else it may be anyone's. Raises ConfigError if *ca_file* holds no certificates, OSError if it cannot
    be read.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca_file is not None:
        context = _trusting(ca_file)

    def wrap(connected: socket.socket) -> socket.socket:
        return context.wrap_socket(connected, server_hostname=host)

    return wrap


def _trusting(ca_file: Path) -> ssl.SSLContext:
    pem = ca_file.read_bytes()
    try:
        context = ssl.create_default_context(cadata=pem.decode("ascii", "ignore"))
    except ssl.SSLError as error:
        raise ConfigError(f"CA_FILE = {ca_file}: no certificates in PEM form are in it ({error})") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
