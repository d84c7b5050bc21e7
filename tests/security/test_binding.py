"""A server on a public address is protected, unless its operator disables this."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.server import ServerConfig

TLS = {"tls_cert": "server.pem", "tls_key": "server-key.pem"}
CLIENTS = {"tls_client_ca": "ca.pem"}
TOKENS = {"tokens": "tokens"}


def bind(host: str, **settings: Any) -> ServerConfig:
    return ServerConfig(("CartPole-v1",), host=host, **settings)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "server.example"])
@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, "TLS .* and --tokens or --tls-client-ca"),
        (TOKENS, "TLS"),
        (TLS, "--tokens or --tls-client-ca"),
        (TLS | TOKENS, None),
        (TLS | CLIENTS, None),
        (TLS | CLIENTS | TOKENS, None),
        ({"insecure": True}, None),
    ],
)
def test_public_addresses(host: str, settings: dict[str, Any], missing: str | None) -> None:
    if missing is None:
        assert bind(host, **settings).host == host
        return
    with pytest.raises(ValueError, match=f"refusing to bind .* Give {missing}"):
        bind(host, **settings)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1"])
def test_loopback_needs_nothing(host: str) -> None:
    assert bind(host).loopback


@pytest.mark.parametrize("name", ["max_sessions_per_client", "max_makes_per_minute"])
def test_no_limit_is_below_none(name: str) -> None:
    with pytest.raises(ValueError, match="0, for no limit"):
        bind("127.0.0.1", **{name: -1})


@pytest.mark.parametrize(
    "settings", [{"tls_cert": "c"}, {"tls_key": "k"}, CLIENTS, {"tls_cert": "c", **CLIENTS}]
)
def test_half_of_tls_is_none(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="go together"):
        bind("127.0.0.1", **settings)
