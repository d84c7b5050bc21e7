"""Servers that were never started, were stopped, killed or drained: errors say so, and what to do."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable
from threading import Thread

import pytest

from envwire.client import (
    RemoteEnv,
    RemoteVectorEnv,
    ServerUnavailableError,
    SessionClosedError,
    aio,
)
from envwire.server import Server
from tests.faults.scene import alive, eventually, family_of
from tests.tiers import first

CARTPOLE = "CartPole-v1"
TRANSPORTS = ("direct", "stream", "unary")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a wait that was not asked for endless, for the test's timeout to find."""
    monkeypatch.setattr("envwire.client._transports.targets._DEFAULT_SECONDS", 1e6)


@pytest.mark.usefixtures("endless")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_where_nothing_listens_nobody_waits(host: str, transport: str) -> None:
    target = f"{host}:{free_port()}"
    with pytest.raises(
        ServerUnavailableError, match=rf"nothing listens at {target}.*envwire serve"
    ):
        RemoteEnv(target, CARTPOLE, transport=transport)


@pytest.mark.usefixtures("endless")
def test_nor_do_vectors_and_event_loops() -> None:
    target = f"127.0.0.1:{free_port()}"

    async def main() -> None:
        await aio.RemoteEnv(target, CARTPOLE)

    with pytest.raises(ServerUnavailableError, match="nothing listens"):
        RemoteVectorEnv(target, CARTPOLE, num_envs=2)
    with pytest.raises(ServerUnavailableError, match="nothing listens"):
        asyncio.run(main())


def test_a_server_that_is_about_to_start_is_waited_for_when_asked_to() -> None:
    server = Server([CARTPOLE], port=free_port())
    target = vars(server)["_config"].port
    starting = Thread(target=server.start)
    starting.start()
    try:
        RemoteEnv(f"127.0.0.1:{target}", CARTPOLE, connect_timeout=60.0).close()
    finally:
        starting.join()
        server.stop()


def stop(server: Server) -> None:
    server.stop()


def kill(server: Server) -> None:
    processes = family_of(server.pid)  # a session's process may serve a step before it notices
    os.kill(server.pid, signal.SIGKILL)
    assert eventually(lambda: not any(map(alive, processes)))


@pytest.mark.parametrize("end", first([kill, stop]))
def test_a_server_that_is_gone_is_said_to_be(
    end: Callable[[Server], None], caplog: pytest.LogCaptureFixture
) -> None:
    server = Server([CARTPOLE]).start()
    target = server.target
    envs = [RemoteEnv(target, CARTPOLE, transport=transport) for transport in TRANSPORTS]
    for env in envs:
        env.reset(seed=1)
    end(server)
    for env in envs:
        caplog.clear()
        is_said_to_be_gone(env, target, caplog)
    server.stop()


def is_said_to_be_gone(env: RemoteEnv, target: str, caplog: pytest.LogCaptureFixture) -> None:
    begun = time.monotonic()
    with pytest.raises(ServerUnavailableError, match=f"nothing listens at {target}") as caught:
        env.step(0)
    spent = time.monotonic() - begun
    assert "reset() makes the environment anew" in str(caught.value)
    assert "stopped or crashed" in str(caught.value)
    retried = f"nothing listens at {target}; trying again for up to"
    [told] = [each for each in caplog.records if retried in each.getMessage()]
    assert told.args is not None
    promised = float(told.args[-1])  # type: ignore[call-overload]
    assert promised <= spent + 0.5  # it does not say a minute where it gives up after two seconds
    with pytest.raises(SessionClosedError):
        env.step(0)


def test_a_server_that_runs_again_makes_the_environment_anew() -> None:
    port = free_port()
    with Server([CARTPOLE], port=port) as server:
        env = RemoteEnv(server.target, CARTPOLE)
        first = env.reset(seed=1)[0]
    with pytest.raises(ServerUnavailableError):
        env.step(0)
    with Server([CARTPOLE], port=port):
        assert (env.reset(seed=1)[0] == first).all()
        env.close()


def test_a_drained_server_says_that_it_was_stopped() -> None:
    with Server([CARTPOLE], drain_timeout=0.2) as server:
        env = RemoteEnv(server.target, CARTPOLE, transport="stream")
        env.reset(seed=1)
        os.kill(server.pid, signal.SIGTERM)
        assert eventually(lambda: not alive(server.pid))
        with pytest.raises(ServerUnavailableError, match=r"was stopped.*reset"):
            env.step(0)
