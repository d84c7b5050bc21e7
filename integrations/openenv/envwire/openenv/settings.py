"""Settings of the bridge, which its server writes to standard input."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of the OpenEnv bridge.

    Attributes:
        target: HOST:PORT of the envwire server.
        host: Address to bind.
        port: Port to bind.
        max_connections: Most simultaneous connections; further ones are refused with status 503.
        max_message_bytes: Largest message from a client, in bytes.
        idle_timeout: Seconds without a message after which a connection is closed.
        tls_cert: PEM file of the certificate; "" for plain HTTP.
        tls_key: PEM file of its key.
        loopback: Whether only this machine can reach the bridge.
    """

    target: str
    host: str
    port: int
    max_connections: int
    max_message_bytes: int
    idle_timeout: float
    tls_cert: str
    tls_key: str
    loopback: bool

    @classmethod
    def from_json(cls, text: str) -> BridgeSettings:
        """Parses the line that the server writes."""
        return cls(**json.loads(text))
