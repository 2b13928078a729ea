"""The certificate that the door shows."""

from pathlib import Path

from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLContextFactory
from zope.interface import implementer

from pepsi.errors import ConfigError


@implementer(IOpenSSLContextFactory)
class ServerTls:
    """TLS 1.2 and up with the chain in the file *certificate*, our own first, and its *key*.

    Raises ConfigError if they cannot be read or do not belong together.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        # From files: what pyOpenSSL takes as objects, and deprecates, differs from release to release.
        self._context = SSL.Context(SSL.TLS_METHOD)
        self._context.set_min_proto_version(SSL.TLS1_2_VERSION)
        self._context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_CIPHER_SERVER_PREFERENCE | SSL.OP_NO_RENEGOTIATION)
        self._context.set_session_id(b"pepsi-ingress")
        try:
            # OpenSSL would ask the terminal for the passphrase.
            if b"ENCRYPTED" in key.read_bytes():
                raise ConfigError(f"[pepsi-ingress] KEY_FILE {key}: a server needs its key without a passphrase")
            self._context.use_certificate_chain_file(str(certificate))
            self._context.use_privatekey_file(str(key))
            self._context.check_privatekey()
        except OSError as error:
            raise ConfigError(f"[pepsi-ingress] KEY_FILE {key}: cannot be read: {error.strerror}") from error
        except SSL.Error as error:
            raise ConfigError(
                f"[pepsi-ingress] CERTIFICATE_FILE {certificate} and KEY_FILE {key} cannot be used together; expected "
                f"a certificate chain, and the private key of its first, both as PEM{_why(error)}"
            ) from error

    def getContext(self) -> SSL.Context:
        """What Twisted asks for, for each connection."""
        return self._context


def _why(error: SSL.Error) -> str:
    reasons = [str(part[-1]) for part in (error.args[0] if error.args else []) if part and part[-1]]
    return f" ({'; '.join(reasons)})" if reasons else ""
