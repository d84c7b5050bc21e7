"""Servers of a farm that fall silent: the gateway decides whether a session there is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import Credentials, RemoteEnv, aio
from envwire.client._transports.grpc.gateway import is_server_dead
from envwire.server import Server
from tests.farm.scene import ENV, SETTINGS, Gateway, farm, free_port, kill, server
from tests.faults.scene import eventually, family_of


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envwire.client._drivers.failure_detection.LATE_SECONDS", 0.2)
    monkeypatch.setattr("envwire.client._drivers.failure_detection.PROBE_SECONDS", 0.3)


@pytest.fixture
def two() -> Iterator[tuple[Gateway, list[Server]]]:
    with farm(2) as (gateway, servers):
        families = [family_of(each.pid) for each in servers]
        yield gateway, servers
        for pid in set[int]().union(*families):
            _signal(pid, signal.SIGCONT)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def stop(gateway: Gateway, servers: list[Server]) -> set[int]:
    """Stops the server that has a session, as a machine stands still; returns its processes."""
    gateway.wait_until(lambda: any(each.active_sessions for each in gateway.servers().values()))
    busiest = max(gateway.servers().values(), key=lambda each: each.active_sessions).address
    family = family_of(next(each for each in servers if each.target == busiest).pid)
    for pid in family:
        _signal(pid, signal.SIGSTOP)
    return family


@pytest.mark.parametrize("transport", ["direct", "stream"])
def test_a_silent_server_is_left_once_the_gateway_says_that_it_is_dead(
    two: tuple[Gateway, list[Server]], transport: str
) -> None:
    gateway, servers = two
    env = RemoteEnv(gateway.target, ENV, on_lost="replay", transport=transport)
    first = [env.reset(seed=3)[0], env.step(0)[0]]
    stop(gateway, servers)
    last = env.step(1)[0]
    assert env.connection_stats == (0, 1, 1)
    again = RemoteEnv(gateway.target, ENV)
    np.testing.assert_array_equal(again.reset(seed=3)[0], first[0])
    np.testing.assert_array_equal(again.step(0)[0], first[1])
    np.testing.assert_array_equal(again.step(1)[0], last)
    env.close()
    again.close()


class Hole:
    """Ports at which connections are accepted, and nothing answers: as if they did not reach the machine."""

    def __init__(self, *ports: int) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", port)) for port in ports]

    def close(self) -> None:
        for each in self._sockets:
            each.close()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("transport", ["direct-tcp", "stream", "unary"])
def test_a_server_that_is_gone_with_its_address_is_left(
    transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The broken connection is the sign, not a late answer; and it ends the attempt to connect again.
    monkeypatch.setattr("envwire.client._drivers.failure_detection.LATE_SECONDS", 1000.0)
    monkeypatch.setattr("envwire.client._transports.direct.dialing._DIAL_SECONDS", 1000.0)
    direct = free_port()
    with farm(1, direct_port=direct) as (gateway, servers):
        env = RemoteEnv(gateway.target, ENV, on_lost="replay", transport=transport)
        first = env.reset(seed=3)[0]
        port = int(servers[0].target.rpartition(":")[2])
        kill(servers[0])
        servers[0].stop()
        hole = Hole(port, direct)
        with server(gateway) as other:
            gateway.await_servers(other)
            env.step(1)
            assert env.connection_stats == (0, 1, 1)
            np.testing.assert_array_equal(env.reset(seed=3)[0], first)
            env.close()
        hole.close()


def test_an_event_loop_leaves_it_as_well(two: tuple[Gateway, list[Server]]) -> None:
    gateway, servers = two

    async def drive() -> None:
        env = await aio.RemoteEnv.make(gateway.target, ENV, on_lost="replay")
        await env.reset(seed=3)
        await asyncio.to_thread(stop, gateway, servers)
        await env.step(1)
        assert env.connection_stats == (0, 1, 1)
        await env.close()

    asyncio.run(asyncio.wait_for(drive(), 60.0))


def test_a_silent_server_is_waited_for_while_nobody_says_that_it_is_dead(
    two: tuple[Gateway, list[Server]],
) -> None:
    gateway, servers = two
    env = RemoteEnv(gateway.target, ENV, on_lost="replay")
    env.reset(seed=3)
    family = stop(gateway, servers)
    gateway.kill()

    def go_on() -> None:
        for pid in family:
            _signal(pid, signal.SIGCONT)

    timer = threading.Timer(3.0, go_on)
    timer.start()
    env.step(1)
    timer.join()
    assert env.connection_stats[1:] == (0, 0)
    gateway.start()
    env.close()


def test_what_is_no_gateway_pronounces_nobody_dead(two: tuple[Gateway, list[Server]]) -> None:
    gateway, servers = two
    made: Any = gateway.make()
    for target in (gateway.target, servers[0].target, "127.0.0.1:1"):
        assert not is_server_dead(target, Credentials(), made.session_id, silent=True)


def test_a_gateway_that_accepts_and_says_nothing_is_tried_again_after_5_s(
    capfd: pytest.CaptureFixture[str],
) -> None:
    said: list[str] = []

    def is_told() -> bool:
        said.append(capfd.readouterr().err)
        return "not registered" in said[-1]

    with socket.create_server(("127.0.0.1", 0)) as mute:
        target = f"127.0.0.1:{mute.getsockname()[1]}"
        with Server([ENV], **{**SETTINGS, "join": [target]}):
            assert eventually(is_told, 40.0)
    assert f"not registered with gateway {target}: no answer within 5 s" in said[-1]
