"""The certificate that the door shows."""

import re
from pathlib import Path

from OpenSSL import SSL
from twisted.internet.ssl import Certificate, CertificateOptions, PrivateCertificate, TLSVersion

from pepsi.errors import ConfigError

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def server_options(path: Path, key: bytes | None) -> CertificateOptions:
    """Return what a server needs for TLS 1.2 and up: the chain in the file at *path*, and the *key* of its first.

    None: the file holds the key, too. Raises ConfigError if they cannot be read or do not belong together.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"[pepsi-ingress] CERTIFICATE_FILE {path}: cannot be read: {error.strerror}") from error
    blocks = _CERTIFICATE.findall(content)
    if not blocks:
        raise ConfigError(f"[pepsi-ingress] CERTIFICATE_FILE {path}: expected certificates in PEM form")
    key = content if key is None else key
    if b"ENCRYPTED" in key:
        # OpenSSL would ask the terminal for the passphrase.
        raise ConfigError("[pepsi-ingress] the private key is encrypted; a server needs it without a passphrase")
    try:
        own = PrivateCertificate.loadPEM(key + b"\n" + blocks[0])  # type: ignore[no-untyped-call]
        options = CertificateOptions(
            privateKey=own.privateKey.original,
            certificate=own.original,
            extraCertChain=[Certificate.loadPEM(block).original for block in blocks[1:]],
            raiseMinimumTo=TLSVersion.TLSv1_2,
        )
        options.getContext()
    except (SSL.Error, ValueError) as error:
        raise ConfigError(
            f"[pepsi-ingress] CERTIFICATE_FILE {path}: certificate and private key cannot be used together; "
            f"expected both in PEM form, and the key to be that of the first certificate ({error})"
        ) from error
    return options
