"""The suite really uses the guard and the transport that it names."""

from __future__ import annotations

import pytest

from envwire.client import Credentials, RemoteEnv, TlsError
from envwire.client._transports.direct.direct_channel import TimedChannel
from envwire.client._transports.grpc.grpc_transports import StreamTransport
from envwire.server import Server
from tests.faults.scene import channel_of, transport_of
from tests.secured import Guard

STRANGER = Credentials(ca=None, cert=None, key=None, token=None)


def test_proxies_go_the_way_of_the_suite(server: Server, guard: Guard, transport: str) -> None:
    env = RemoteEnv(server.target, "CartPole-v1")
    if transport == "direct":
        assert isinstance(channel_of(env), TimedChannel) is guard.strict
    else:
        assert isinstance(transport_of(env), StreamTransport)
    env.close()


@pytest.mark.usefixtures("transport")
def test_strangers_get_nowhere_where_there_is_a_guard(server: Server, guard: Guard) -> None:
    if not guard.strict:
        RemoteEnv(server.target, "CartPole-v1", credentials=STRANGER).close()
        return
    with pytest.raises(TlsError):
        RemoteEnv(server.target, "CartPole-v1", credentials=STRANGER)
