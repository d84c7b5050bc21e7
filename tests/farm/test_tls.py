"""A farm in which everything is encrypted: clients, servers and the gateway check each other's certificates."""

from __future__ import annotations

import pytest

from envwire.client import RemoteEnv, TlsError
from tests.farm.scene import ENV, Gateway, server
from tests.secured import certificates


@pytest.mark.parametrize("transport", ["unary", "stream", "direct-tcp"])
def test_a_farm_with_tls(transport: str) -> None:
    files = certificates()
    credentials = files.client(cert=None, key=None)
    ca = str(files.path("ca"))
    options = ("--tls-cert", str(files.path("server")), "--tls-key", str(files.path("server-key")))
    gateway = Gateway(*options, "--server-ca", ca, credentials=credentials).start()
    try:
        with server(gateway, join_ca=ca, **files.server()) as joined:
            gateway.await_servers(joined)
            env = RemoteEnv(gateway.target, ENV, transport=transport, credentials=credentials)
            env.reset(seed=1)
            env.step(0)
            env.close()
            with pytest.raises(TlsError):
                RemoteEnv(gateway.target, ENV)
    finally:
        gateway.kill()
