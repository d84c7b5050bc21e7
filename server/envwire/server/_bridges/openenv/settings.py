"""Settings of a bridge, derived from its server's."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass

from envwire.server._settings.listening import local_target
from envwire.server.config import ServerConfig


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
        """Derives a bridge's settings from its server's.

        Args:
            config: The server's settings.
            target: HOST:PORT that the server is bound to.
        """
        return cls(
            target=local_target(target),
            host=config.host,
            port=config.openenv,
            # One per session, and as many again for clients that come, go or ask for /health.
            max_connections=2 * config.max_sessions + 16,
            max_message_bytes=config.max_message_bytes,
            idle_timeout=config.max_lease,
            tls_cert=os.fspath(config.tls_cert),
            tls_key=os.fspath(config.tls_key),
        )

    def to_json(self) -> str:
        """Returns the settings as one line of JSON, for the bridge's process."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> BridgeSettings:
        """Parses the result of `to_json`."""
        return cls(**json.loads(text))
