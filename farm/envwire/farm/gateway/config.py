"""The gateway's settings, declared like a server's (see `envwire.server.config`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from envwire.server._settings.checks import (
    DIRECT_PORT,
    LIMIT,
    OPTIONAL_PORT,
    PORT,
    POSITIVE,
    FilePath,
)
from envwire.server._settings.listening import Listening, check_listening
from envwire.server._settings.setting import check_all, setting, settings_of

_gateway = partial(setting, "Gateway")
_safety = partial(setting, "Safety")


@dataclass(frozen=True, kw_only=True)
class GatewayConfig(Listening):
    """Settings of one gateway; docs/farm.md describes them. Times are in seconds.

    Raises:
        ValueError: A public address without protection, or an invalid value.
    """

    host: str = _gateway("127.0.0.1", "Address to bind.")
    port: int = _gateway(50050, "Port to bind; 0 for any free one.", PORT)
    direct_port: int = _gateway(
        0,
        "Port of direct channels to servers that only the gateway can reach; those servers connect to it as well. 0 "
        "for any free port on loopback and none on other addresses, -1 for none.",
        DIRECT_PORT,
    )
    queue: int = _gateway(
        0,
        "Makes that may wait for a free slot when the farm is full; 0 to refuse them at once.",
        LIMIT,
    )
    queue_timeout: float = _gateway(30.0, "Longest wait of such a Make.", POSITIVE)
    quota: int = _gateway(
        0,
        "Sessions of the farm that a client may hold at once, allocated slots included, unless its token says "
        "quota=; 0 for any number. It takes --tokens.",
        LIMIT,
    )
    relay: bool = _gateway(
        False,
        "For clients that reach no server: the gateway names no addresses to them, and relays all that they do, "
        "which is slower.",
    )
    max_message_bytes: int = _gateway(
        256 * 1024 * 1024, "Largest message in either direction, in bytes.", POSITIVE
    )
    max_make_bytes: int = _gateway(1024 * 1024, "Largest Make, in bytes.", POSITIVE)
    http_port: int = _gateway(
        0,
        "Port of HTTP for operators: /livez and /readyz for probes, /metrics for Prometheus; 0 for none.",
        OPTIONAL_PORT,
    )
    server_ca: FilePath = _safety(
        "",
        "PEM file of the CA that issued the servers' certificates; without it, connections to servers have no TLS.",
    )
    tls_cert: FilePath = _safety(
        "", "PEM file of the gateway's certificate; it is reloaded when it changes."
    )
    tls_key: FilePath = _safety("", "PEM file of its key.")
    tls_client_ca: FilePath = _safety(
        "", "PEM file of the CA whose certificates of clients and servers are accepted."
    )
    tokens: FilePath = _safety("", "File of the accepted tokens; servers need one with scope join.")
    insecure: bool = _safety(
        False, "Bind an address other than loopback without TLS and without authentication."
    )

    def __post_init__(self) -> None:
        """Refuses invalid and contradictory settings."""
        check_all(SETTINGS, self)
        self.take_off_brackets()
        check_listening(self)
        if self.quota and not self.tokens:
            raise ValueError("--quota counts by token; give --tokens as well")


#: All settings of a gateway, by name.
SETTINGS = settings_of(GatewayConfig)
