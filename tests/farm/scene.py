"""A farm of real processes: a gateway that can be killed and started again, and servers that register with it."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import numpy as np

from envwire.client import Credentials
from envwire.client._transports.grpc.grpc_connection import open_channel
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import environment_pb2_grpc
from tests.conftest import SETTINGS

ENV = "CartPole-v1"
HOSTED = ("CartPole-v1", "Pendulum-v1", "tests/*")
#: Longest wait for something to be seen from outside.
SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Gateway:
    """A gateway in a process of its own, at the same port however often it is started."""

    def __init__(
        self, *options: str, credentials: Credentials | None = None, host: str = "127.0.0.1"
    ) -> None:
        self._port = free_port()
        self.target = f"{host}:{self._port}"
        self._options = options
        self._credentials = credentials or Credentials()

    def start(self) -> Gateway:
        command = (sys.executable, "-m", "envwire", "farm", "gateway", "--port", str(self._port))
        self.process = subprocess.Popen(
            [*command, *self._options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("ready: ")
        self.channel = open_channel(self.target, self._credentials)
        self.farm = farm_pb2_grpc.FarmServiceStub(self.channel)
        self.environments = environment_pb2_grpc.EnvironmentServiceStub(self.channel)
        return self

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.channel.close()
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def servers(self) -> dict[str, farm_pb2.ServerStatus]:
        """Returns the gateway's entries of its servers, by address."""
        listed = self.farm.ListServers(farm_pb2.ListServersRequest(), timeout=SECONDS)
        return {each.address: each for each in listed.servers}

    def states(self) -> dict[str, str]:
        names = farm_pb2.ServerStatus.State
        return {
            address: names.Name(each.state).removeprefix("STATE_")
            for address, each in self.servers().items()
        }

    def locate(self, session_id: str, *, silent: bool = False) -> str:
        request = farm_pb2.LocateRequest(session_id=session_id, silent=silent)
        answer = self.farm.Locate(request, timeout=SECONDS)
        return farm_pb2.LocateResponse.Liveness.Name(answer.liveness).removeprefix("LIVENESS_")

    def make(self, **more: Any) -> pb.MakeResponse:
        """Makes an environment as a stock client does."""
        request = pb.MakeRequest(env_id=ENV, request_id=secrets.token_bytes(16))
        request.MergeFrom(pb.MakeRequest(**more))
        made: pb.MakeResponse = self.environments.Make(request, timeout=SECONDS)
        return made

    def wait_until(
        self, holds: Callable[[], bool], shown: Callable[[], object] | None = None
    ) -> None:
        """Waits until a condition holds; shows the servers' states, or what `shown` returns, if it never does."""
        deadline = time.monotonic() + SECONDS
        while not _holds(holds):
            assert time.monotonic() < deadline, (shown or self.states)()
            time.sleep(0.05)

    def await_servers(self, *servers: Server) -> None:
        self.wait_until(
            lambda: (
                {each.target for each in servers}
                <= {a for a, s in self.states().items() if s == "FREE"}
            )
        )


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except grpc.RpcError:  # a gateway that is starting
        return False


def server(gateway: Gateway, **settings: Any) -> Server:
    given = {**SETTINGS, "join": [gateway.target], "sessions_per_process": 64, **settings}
    return Server(HOSTED, **given)


@contextlib.contextmanager
def farm(count: int, *options: str, **settings: Any) -> Iterator[tuple[Gateway, list[Server]]]:
    """Runs a gateway and servers that have registered with it."""
    gateway = Gateway(*options).start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        servers = [stack.enter_context(server(gateway, **settings)) for _ in range(count)]
        gateway.await_servers(*servers)
        yield gateway, servers


def kill(server: Server) -> None:
    """Kills a server as a node dies: the front and all that it started."""
    os.killpg(server.pid, signal.SIGKILL)


def header(made: pb.MakeResponse) -> pb.SessionHeader:
    return pb.SessionHeader(session_id=made.session_id, secret=made.secret)


def step(local: Any, remote: Any) -> None:
    """Steps an environment here and there, with a reset where one is due: both give the same."""
    action = local.action_space.sample()
    ours, theirs = remote.step(action), local.step(action)
    for one, other in zip(ours[:4], theirs[:4], strict=True):
        np.testing.assert_array_equal(one, other)
    if np.ndim(ours[2]) == 0 and (ours[2] or ours[3]):  # a vector environment resets by itself
        np.testing.assert_array_equal(remote.reset()[0], local.reset()[0])


def step_until_recovered(local: Any, remote: Any) -> None:
    """Steps both until a loss was noticed and recovered from."""
    deadline = time.monotonic() + SECONDS
    while not remote.connection_stats.recovered:
        assert time.monotonic() < deadline, remote.connection_stats
        step(local, remote)
    assert remote.connection_stats.lost == remote.connection_stats.recovered
