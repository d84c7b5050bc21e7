"""Direct channels with TLS, which the front terminates: frames of any size, and cuts of the TCP connection."""

from __future__ import annotations

import os
import signal
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client import RemoteEnv, SessionLostError, StepTimeoutError
from envwire.server import Server
from envwire.testing.comparing import identical
from envwire.wire.frames import PREAMBLE
from tests.direct.conftest import SETTINGS
from tests.direct.detour import through
from tests.direct.hosted_frames import FRAMES
from tests.direct.relay import Cut, How, Relay
from tests.direct.test_resuming import expected, play
from tests.faults.scene import active, alive, eventually
from tests.hosted_envs import Fault
from tests.secured import certificates

CREDENTIALS = certificates().client()


@pytest.fixture(scope="module")
def secure() -> Iterator[Server]:
    """A server that asks for a client certificate."""
    protection = certificates().server(ask_clients=True)
    with Server(["direct/*", "tests/*"], step_timeout=1.0, **SETTINGS, **protection) as server:
        yield server


def make(secure: Server, env_id: str = FRAMES, **kwargs: Any) -> RemoteEnv:
    return RemoteEnv(
        secure.target, env_id, transport="direct-tcp", credentials=CREDENTIALS, **kwargs
    )


@pytest.mark.parametrize("shape", [(4,), (5000,), (300, 400), (3000, 4001)], ids=str)
def test_an_episode_is_the_same_bit_for_bit(secure: Server, shape: Any) -> None:
    env = make(secure, shape=shape, chatty=True)
    local = gym.make(FRAMES, shape=shape, chatty=True)
    assert identical(env.reset(seed=5)[0], np.array(local.reset(seed=5)[0]))
    for step in range(5):
        result = local.step(step % 4)
        assert identical(env.step(step % 4), (np.array(result[0]), *result[1:]))
    env.close()


def test_large_actions_arrive(secure: Server) -> None:
    env = make(secure, "tests/Awkward-v0")
    env.reset()
    action = {"x": np.arange(500_000, dtype=np.float64)}
    assert identical(env.step(action)[4]["action"], action)
    env.close()


@pytest.mark.parametrize("how", [How.RESET, How.HALF_CLOSE])
def test_an_episode_survives_cuts(
    secure: Server, monkeypatch: pytest.MonkeyPatch, how: How
) -> None:
    """Within the handshake, and within records."""
    monkeypatch.setattr("envwire.client._session.resuming._FIRST_PAUSE", 0.001)
    cuts = [Cut(True, after, how) for after in (0, 200, 1000)]
    cuts += [Cut(False, after, how) for after in (0, 500, 1500, 25_000)]
    relay = Relay([Cut(False, 30_000, how), *cuts])
    transport = through(relay, secure.target, CREDENTIALS)
    env = RemoteEnv(None, FRAMES, transport=transport, shape=(20_000,))
    assert identical(play(env, 60), expected(60, shape=(20_000,)))
    assert relay.taken == len(cuts) + 2
    env.close()
    relay.close()


def test_a_hung_environment_and_a_killed_one(secure: Server) -> None:
    env = make(secure, "tests/Faulty-v0")
    env.reset()
    with pytest.raises(StepTimeoutError, match="within 1 s"):
        env.step(int(Fault.HANG))
    os.kill(env.reset()[1]["pid"], signal.SIGKILL)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        env.step(0)
    env.close()


def test_a_client_that_is_gone_frees_its_slot(secure: Server) -> None:
    def held() -> int:
        return active(secure.target, credentials=CREDENTIALS)

    assert eventually(lambda: held() == 0)
    relay = Relay()
    transport = through(relay, secure.target, CREDENTIALS)
    env = RemoteEnv(None, "tests/Faulty-v0", transport=transport, lease=0.3)
    pid = env.reset()[1]["pid"]
    assert not eventually(lambda: held() == 0, seconds=0.7), "an open channel keeps it"
    relay.close()
    assert eventually(lambda: held() == 0 and not alive(pid))
    env.close()


def direct_port(secure: Server) -> int:
    relay = Relay()
    RemoteEnv(None, FRAMES, transport=through(relay, secure.target, CREDENTIALS)).close()
    relay.close()
    return relay.upstream


def test_strangers_do_not_get_as_far_as_a_hello(secure: Server) -> None:
    """Neither without TLS nor without a certificate."""
    port = direct_port(secure)
    with socket.create_connection(("127.0.0.1", port), 10.0) as plain:
        plain.sendall(PREAMBLE + bytes(100))
        assert not plain.recv(100).startswith(b"envwire")
    context = ssl.create_default_context(cafile=str(certificates().path("ca")))
    with pytest.raises(OSError, match=r"(?i)certificate|reset|EOF|closed"):
        _greet(context, port)


def _greet(context: ssl.SSLContext, port: int) -> None:
    with (
        socket.create_connection(("127.0.0.1", port), 10.0) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(PREAMBLE)
        if not connection.recv(1):
            raise ConnectionResetError("closed")
