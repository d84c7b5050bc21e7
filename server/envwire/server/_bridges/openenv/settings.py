"""Settings of a bridge, derived from those of its server."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass

from envwire.server.config import ServerConfig

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "::": "[::1]"}  # noqa: S104 - replaced, not bound


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of the OpenEnv bridge.

    Attributes:
        target: HOST:PORT of the envwire server.
        host: Address to bind.
        port: Port to bind.
        max_connections: Connections at once; one more is refused with status 503.
        max_message_bytes: Largest message of a client, in bytes.
        idle_timeout: Seconds after which a connection without a message is closed.
        tls_cert: PEM file of the certificate; "" for plain HTTP.
        tls_key: PEM file of its key.
    """

    target: str
    host: str
    port: int
    max_connections: int
    max_message_bytes: int
    idle_timeout: float
    tls_cert: str
    tls_key: str

    @classmethod
    def of(cls, config: ServerConfig, target: str) -> BridgeSettings:
        """Derives them from those of the server.

        Args:
            config: The server's settings.
            target: HOST:PORT that the server is bound to.
        """
        host, _, port = target.rpartition(":")
        return cls(
            target=f"{_WILDCARDS.get(host, host)}:{port}",
            host=config.host,
            port=config.openenv,
            # A session each, and as many again for clients that come, go or ask for /health.
            max_connections=2 * config.max_sessions + 16,
            max_message_bytes=config.max_message_bytes,
            idle_timeout=config.max_lease,
            tls_cert=os.fspath(config.tls_cert),
            tls_key=os.fspath(config.tls_key),
        )

    def to_json(self) -> str:
        """Returns the settings as one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> BridgeSettings:
        """Reads what `to_json` wrote."""
        return cls(**json.loads(text))
