"""How soon a connection over TCP notices that its peer is gone."""

from __future__ import annotations

import socket

import pytest

from envwire.client import RemoteEnv
from envwire.client._transports.portability import liveness_options
from envwire.server import Server


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="an option of Linux")
@pytest.mark.parametrize("seconds", [4.0, 5.0, 7.5, 30.0])
def test_the_kernel_gives_up_in_time(seconds: float) -> None:
    options = dict(liveness_options(seconds))
    probing = options[socket.TCP_KEEPINTVL] * options[socket.TCP_KEEPCNT]
    assert seconds - 1 < options[socket.TCP_KEEPIDLE] + probing <= seconds
    assert options[socket.TCP_USER_TIMEOUT] == seconds * 1000


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="an option of Linux")
def test_a_channel_has_the_liveness_that_was_asked_for(server: Server) -> None:
    settings = {"transport": "direct-tcp", "liveness": 5.0}
    with RemoteEnv(server.target, "CartPole-v1", **settings) as env:
        connection = env._handle.driver.transport._channel.connection
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 5000


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="an option of Linux")
def test_an_idle_channel_is_kept_alive_in_routers(server: Server) -> None:
    """Routers forget a connection on which nothing came for some minutes, the strictest after 30 s."""
    with RemoteEnv(server.target, "CartPole-v1", transport="direct-tcp") as env:
        connection = env._handle.driver.transport._channel.connection
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 20


def test_a_liveness_that_the_kernel_cannot_tell_is_refused() -> None:
    with pytest.raises(ValueError, match="liveness=2 is not a number of seconds, 4 or more"):
        RemoteEnv("localhost:1", "CartPole-v1", liveness=2)
