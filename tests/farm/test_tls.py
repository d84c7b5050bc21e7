"""A farm in which everything is encrypted: clients, servers and the gateway check each other's certificates."""

from __future__ import annotations

import contextlib
from functools import partial

import pytest

from envwire.client import CapacityError, RemoteEnv, TlsError
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


@pytest.mark.parametrize(("host", "covered"), [("127.0.0.2", True), ("elsewhere.example", False)])
def test_through_a_tunnel_the_certificate_has_to_cover_the_address(
    host: str, covered: bool
) -> None:
    files = certificates()
    credentials = files.client(cert=None, key=None)
    ca = str(files.path("ca"))
    options = ("--tls-cert", str(files.path("server")), "--tls-key", str(files.path("server-key")))
    gateway = Gateway(*options, "--server-ca", ca, credentials=credentials).start()
    tunnel = {"tunnel": True, "advertise": f"{host}:1", "join_ca": ca}
    try:
        with server(gateway, **tunnel, **files.server()):
            gateway.wait_until(lambda: gateway.states() == {f"{host}:1": "FREE"})
            make = partial(RemoteEnv, gateway.target, ENV, credentials=credentials)
            if covered:
                with contextlib.closing(make()) as env:
                    env.reset(seed=1)
                    env.step(0)
            else:
                with pytest.raises(CapacityError):
                    make()
    finally:
        gateway.kill()
