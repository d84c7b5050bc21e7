"""A server that knows nothing of farms, and the sidecar that registers it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import gymnasium
import numpy as np
import pytest

from envwire.client import RemoteEnv
from envwire.server import Server
from tests.commands import envwire
from tests.farm.scene import ENV, Gateway, kill


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    gateway = Gateway().start()
    yield gateway
    gateway.kill()


@contextmanager
def sidecar(gateway: Gateway, target: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    command = (sys.executable, "-m", "envwire", "farm", "join", target, "--join", gateway.target)
    with subprocess.Popen([*command, *options]) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0


def test_its_environments_are_made_through_the_gateway(gateway: Gateway) -> None:
    with Server([ENV], max_sessions=3) as server:
        with sidecar(gateway, server.target, "--label", "kind=old"):
            gateway.await_servers(server)
            [status] = gateway.servers().values()
            assert (status.max_sessions, dict(status.labels)) == (3, {"kind": "old"})
            local = gymnasium.make(ENV)
            with RemoteEnv(gateway.target, ENV) as env:
                np.testing.assert_array_equal(env.reset(seed=1)[0], local.reset(seed=1)[0])
                gateway.wait_until(lambda: gateway.servers()[server.target].active_sessions == 1)
            gateway.wait_until(lambda: gateway.servers()[server.target].active_sessions == 0)
        gateway.wait_until(lambda: not gateway.servers())


def test_a_server_that_is_gone_is_found_dead_and_one_in_its_place_is_registered(
    gateway: Gateway,
) -> None:
    with Server([ENV]) as server, sidecar(gateway, server.target):
        gateway.await_servers(server)
        kill(server)
        gateway.wait_until(lambda: gateway.states() == {server.target: "DEAD"})
        with Server([ENV], port=int(server.target.rpartition(":")[2])):
            gateway.wait_until(lambda: gateway.states() == {server.target: "FREE"})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "name a gateway: --join HOST:PORT"),
        (("--join", "localhost:1", "--label", "kind"), "--label is NAME=VALUE"),
        (("--join", "localhost:1", "--join-ca", "/nowhere.pem"), "/nowhere.pem"),
    ],
)
def test_what_is_missing_is_said(options: tuple[str, ...], told: str) -> None:
    done = envwire("farm", "join", "localhost:50051", *options)
    assert done.returncode
    assert told in done.stderr
