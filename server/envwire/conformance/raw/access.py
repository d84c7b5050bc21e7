"""How a check reaches the server: address, token and certificates, and how it stops it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc


@dataclass(frozen=True)
class Access:
    """How to reach a server.

    Attributes:
        target: HOST:PORT of its gRPC port.
        token: Token to send; empty for none.
        observe_token: Token with only the scope "observe", which some checks need; empty for none.
        ca: PEM file of the authority that signed the server's certificate; empty for a server without TLS.
        cert: PEM file of the client's certificate; empty for none.
        key: PEM file of its key.
        stop: Command that tells the server to stop; empty for none.
    """

    target: str
    token: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""
    observe_token: str = ""
    stop: str = ""

    @property
    def host(self) -> str:
        """The host of the target."""
        return self.target.rpartition(":")[0].strip("[]")

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Returns the metadata of every call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def channel(self) -> grpc.Channel:
        """Opens a gRPC channel without limits of message size on this side."""
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        if not self.ca:
            return grpc.insecure_channel(self.target, options)
        credentials = grpc.ssl_channel_credentials(*map(_read, (self.ca, self.key, self.cert)))
        return grpc.secure_channel(self.target, credentials, options)

    def tls(self) -> ssl.SSLContext | None:
        """Returns the TLS context of direct channels over TCP; None without TLS."""
        if not self.ca:
            return None
        context = ssl.create_default_context(cafile=self.ca)
        if self.cert:
            context.load_cert_chain(self.cert, self.key)
        return context


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if path else None
