"""Reads and checks the server's certificates, and reloads them when the files change."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from envwire.server._auth.reloading import Reloaded
from envwire.server._settings.listening import Listening


@dataclass(frozen=True)
class Certificates:
    """Certificates in PEM form.

    Attributes:
        cert: The server's certificate, followed by intermediate authorities.
        key: Its private key.
        client_ca: The CAs whose client certificates are accepted; None to require no certificate.
        context: The same as a context of the `ssl` module.
    """

    cert: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None
    context: ssl.SSLContext = field(repr=False, compare=False)


def server_tls(config: Listening) -> Reloaded[Certificates] | None:
    """Returns the certificates that a server's settings name; None if it uses no TLS.

    Get them anew for each connection, since they change with their files.

    Raises:
        ValueError: A file does not contain what its setting requires.
        OSError: A file cannot be read.
    """
    if not config.tls_cert:
        return None
    paths = [config.tls_cert, config.tls_key, config.tls_client_ca]
    return Reloaded([path for path in paths if path], partial(_read, config))


def _read(config: Listening) -> Certificates:
    cert, key = Path(config.tls_cert).read_bytes(), Path(config.tls_key).read_bytes()
    client_ca = Path(config.tls_client_ca).read_bytes() if config.tls_client_ca else None
    return Certificates(cert, key, client_ca, _context(config))


def _context(config: Listening) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # not the default in every build of Python
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key, password=b"")
    except ssl.SSLError as error:
        raise ValueError(
            f"{config.tls_cert} and {config.tls_key} are no certificate and its key ({error.reason}); give PEM files "
            "that belong together, the key without a passphrase"
        ) from error
    if config.tls_client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(config.tls_client_ca)
        except ssl.SSLError as error:
            raise ValueError(
                f"{config.tls_client_ca} holds no certificate ({error.reason}); give a PEM file of the authority that "
                "issues the clients' certificates"
            ) from error
    return context
