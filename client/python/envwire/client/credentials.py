"""Certificates and tokens of a client, from arguments or environment variables."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from envwire.client._transports.targets import is_local
from envwire.client.errors import InvalidRequestError, TlsError

if TYPE_CHECKING:
    import ssl

#: A PEM file's path, or its content.
Pem = str | os.PathLike[str] | bytes


def _variable(name: str) -> Callable[[], str | None]:
    return lambda: os.environ.get(name) or None


def _token() -> str | None:
    if token := os.environ.get("ENVWIRE_TOKEN"):
        return token
    path = os.environ.get("ENVWIRE_TOKEN_FILE")
    # What is no UTF-8 becomes characters that no token has, which `Credentials` refuses.
    return _read(path, "ENVWIRE_TOKEN_FILE").decode(errors="replace").strip() if path else None


@dataclass(frozen=True)
class Credentials:
    """Certificates and token of a client. The defaults come from the environment variables in parentheses.

    Giving `ca` or `cert` turns TLS on. `repr` shows neither key nor token.

    Attributes:
        ca: The trusted authorities for the server's certificate: a PEM file or its content (ENVWIRE_CA).
        cert: This client's certificate, for servers that require one (ENVWIRE_CERT).
        key: The key of that certificate (ENVWIRE_KEY).
        token: A token that the server accepts (ENVWIRE_TOKEN, or the content of the file ENVWIRE_TOKEN_FILE).
        override_authority: The name in the server's certificate, if it differs from the host name in the target.
        tls: Whether to use TLS without `ca` and `cert`, with the authorities that gRPC trusts by default.
        insecure: Whether the token may be sent to other machines without TLS, where anyone on the way can read it.
        http_proxy: Whether gRPC may connect through the proxy that grpc_proxy, https_proxy or http_proxy names
            (ENVWIRE_HTTP_PROXY=1). Servers on this machine or in a private network, and hosts in no_proxy, are
            always reached without it.

    Raises:
        InvalidRequestError: A certificate without its key, or a token with characters that cannot be sent.
    """

    ca: Pem | None = field(default_factory=_variable("ENVWIRE_CA"))
    cert: Pem | None = field(default_factory=_variable("ENVWIRE_CERT"))
    key: Pem | None = field(default_factory=_variable("ENVWIRE_KEY"), repr=False)
    token: str | None = field(default_factory=_token, repr=False)
    override_authority: str | None = None
    tls: bool = False
    insecure: bool = False
    http_proxy: bool = field(default_factory=lambda: os.environ.get("ENVWIRE_HTTP_PROXY") == "1")

    def __post_init__(self) -> None:
        """Checks that certificate and key are given together, and the token's characters."""
        if (self.cert is None) != (self.key is None):
            missing = "cert" if self.cert is None else "key"
            raise InvalidRequestError(
                f"a certificate and its key go together, and {missing} is missing; give Credentials(cert=..., key=...)"
                " or set ENVWIRE_CERT and ENVWIRE_KEY"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise InvalidRequestError(
                "the token holds characters that no token has; give the one line that `envwire token` printed"
            )

    @property
    def secure(self) -> bool:
        """Whether connections use TLS."""
        return self.tls or self.ca is not None or self.cert is not None

    @property
    def metadata(self) -> tuple[tuple[str, str | bytes], ...] | None:
        """The metadata with the token, for each call."""
        return None if self.token is None else (("authorization", f"Bearer {self.token}"),)

    def check_target(self, target: str) -> None:
        """Refuses to send the token where others can read it.

        Raises:
            InvalidRequestError: There is a token, no TLS, and `target` is not on this machine.
        """
        if self.token is None or self.secure or self.insecure or is_local(target):
            return
        raise InvalidRequestError(
            f"refusing to send a token to {target} without TLS: anyone on the way could read and use it. Give "
            "Credentials(ca=...) or set ENVWIRE_CA, or say Credentials(insecure=True) when the network is trusted"
        )

    def pem(self, name: str) -> bytes | None:
        """Returns the content of "ca", "cert" or "key"; None if it is not given.

        Raises:
            TlsError: The file cannot be read.
        """
        value: Pem | None = getattr(self, name)
        return value if value is None or isinstance(value, bytes) else _read(value, name)

    def ssl_context(self) -> ssl.SSLContext | None:
        """Returns a context for a TLS connection to the server; None if these credentials use no TLS.

        Raises:
            TlsError: A file cannot be read, or has no valid certificate or key.
        """
        if not self.secure:
            return None
        import ssl  # takes 5 ms; only clients that use TLS pay for it

        ca, cert, key = (self.pem(name) for name in ("ca", "cert", "key"))
        try:
            context = ssl.create_default_context(cadata=ca.decode("ascii") if ca else None)
            # Not the default in every build of Python.
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            if cert is not None and key is not None:
                _load_pair(context, cert, key)
        except (ssl.SSLError, ValueError) as error:
            raise TlsError(
                f"the credentials cannot be used ({error}); give PEM files, and the key that belongs to the certificate"
            ) from error
        return context


def _read(path: str | os.PathLike[str], name: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TlsError(
            f"cannot read {name}: {error}; give the path of a file that exists"
        ) from error


def _load_pair(context: ssl.SSLContext, cert: bytes, key: bytes) -> None:
    # The ssl module reads only files. Only the owner can enter the directory of this one, which is deleted at once. It
    # is closed before it is read: Windows opens no file a second time.
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "pair.pem")
        path.write_bytes(key.rstrip() + b"\n" + cert)
        context.load_cert_chain(path, password=b"")
