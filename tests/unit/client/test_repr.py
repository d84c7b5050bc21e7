"""What a notebook shows of a remote environment: its id, and where it is."""

from __future__ import annotations

from envwire.client import RemoteEnv
from envwire.client.gymnasium import RemoteEnv as GymnasiumEnv
from envwire.server import Server


def test_a_proxy_says_what_it_is_and_where(server: Server) -> None:
    for proxy in (RemoteEnv, GymnasiumEnv):
        env = proxy(server.target, "CartPole-v1")
        assert repr(env) == f"<RemoteEnv<CartPole-v1> at {server.target}>"
        env.close()
        assert repr(env) == "<RemoteEnv<CartPole-v1> without a session>"
