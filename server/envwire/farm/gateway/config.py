"""The gateway's settings, declared like a server's (see `envwire.server.config`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from envwire.server._settings.checks import LIMIT, OPTIONAL_PORT, PORT, POSITIVE, FilePath
from envwire.server._settings.listening import check_listening, is_loopback
from envwire.server._settings.setting import About, check_all, settings_of

_gateway = partial(About, "Gateway")
_safety = partial(About, "Safety")


@dataclass(frozen=True, kw_only=True)
class GatewayConfig:
    """Settings of one gateway; docs/farm.md describes them. Times are in seconds.

    Raises:
        ValueError: A public address without protection, or an invalid value.
    """

    host: Annotated[str, _gateway("Address to bind.")] = "127.0.0.1"
    port: Annotated[int, _gateway("Port to bind; 0 for any free one.", PORT)] = 50050
    queue: Annotated[
        int,
        _gateway(
            "Makes that may wait for a free slot when the farm is full; 0 to refuse them at once.",
            LIMIT,
        ),
    ] = 0
    queue_timeout: Annotated[float, _gateway("Longest wait of such a Make.", POSITIVE)] = 30.0
    quota: Annotated[
        int,
        _gateway(
            "Sessions of the farm that a client may hold at once, allocated slots included, unless its token says "
            "quota=; 0 for any number. It takes --tokens.",
            LIMIT,
        ),
    ] = 0
    relay: Annotated[
        bool,
        _gateway(
            "For clients that reach no server: the gateway names no addresses to them, and relays all that they do, "
            "which is slower."
        ),
    ] = False
    max_message_bytes: Annotated[
        int, _gateway("Largest message in either direction, in bytes.", POSITIVE)
    ] = 256 * 1024 * 1024
    max_make_bytes: Annotated[int, _gateway("Largest Make, in bytes.", POSITIVE)] = 1024 * 1024
    http_port: Annotated[
        int,
        _gateway(
            "Port of HTTP for operators: /livez and /readyz for probes, /metrics for Prometheus; 0 for none.",
            OPTIONAL_PORT,
        ),
    ] = 0
    server_ca: Annotated[
        FilePath,
        _safety(
            "PEM file of the CA that issued the servers' certificates; without it, connections to servers have no TLS."
        ),
    ] = ""
    tls_cert: Annotated[
        FilePath, _safety("PEM file of the gateway's certificate; it is reloaded when it changes.")
    ] = ""
    tls_key: Annotated[FilePath, _safety("PEM file of its key.")] = ""
    tls_client_ca: Annotated[
        FilePath,
        _safety("PEM file of the CA whose certificates of clients and servers are accepted."),
    ] = ""
    tokens: Annotated[
        FilePath,
        _safety("File of the accepted tokens; servers need one with scope join."),
    ] = ""
    insecure: Annotated[
        bool,
        _safety("Bind an address other than loopback without TLS and without authentication."),
    ] = False

    def __post_init__(self) -> None:
        """Refuses invalid and contradictory settings."""
        check_all(SETTINGS, self)
        check_listening(self)
        if self.quota and not self.tokens:
            raise ValueError("--quota counts by token; give --tokens as well")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the gateway."""
        return is_loopback(self.host)


#: All settings of a gateway, by name.
SETTINGS = settings_of(GatewayConfig)
