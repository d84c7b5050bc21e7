"""A farm of groups in a process of its own, as `envwire farm up --config` starts it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from typing_extensions import Self

from envwire.client import Credentials, RemoteEnv
from envwire.client._transports.grpc.grpc_connection import open_channel
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from tests.faults.scene import family_of

SECONDS = 120.0
GroupState = farm_pb2.GroupStatus.State


class OnDemand:
    """A running farm of groups.

    Args:
        process: Its process.
        target: HOST:PORT of its gateway.
    """

    def __init__(self, process: subprocess.Popen[str], target: str) -> None:
        self.process = process
        self.target = target
        credentials = Credentials()
        self._more: Any = {"metadata": credentials.metadata, "timeout": SECONDS}
        self._channel = open_channel(target, credentials)
        self._farm = farm_pb2_grpc.FarmServiceStub(self._channel)

    def groups(self) -> dict[str, farm_pb2.GroupStatus]:
        listed = self._farm.ListGroups(farm_pb2.ListGroupsRequest(), **self._more)
        return {each.name: each for each in listed.groups}

    def state(self, name: str) -> str:
        return GroupState.Name(self.groups()[name].state).removeprefix("STATE_")

    def scale(self, name: str, count: int) -> None:
        request = farm_pb2.ScaleGroupRequest(group=name, count=count)
        self._farm.ScaleGroup(request, **self._more)

    def pause(self, name: str, *, paused: bool) -> None:
        request = farm_pb2.PauseGroupRequest(group=name, paused=paused)
        self._farm.PauseGroup(request, **self._more)

    def servers(self) -> list[farm_pb2.ServerStatus]:
        """Returns the servers that registered and live."""
        listed = self._farm.ListServers(farm_pb2.ListServersRequest(), **self._more)
        return [each for each in listed.servers if each.state != each.STATE_DEAD]

    def pids(self) -> list[int]:
        """Returns the process ids of the servers that registered and live."""
        return [each.pid for each in self.servers()]

    def until(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, self.groups()
            assert self.process.poll() is None
            time.sleep(0.05)

    def is_empty(self) -> bool:
        """Returns whether all groups have stopped, and no process is left of their servers."""
        stopped = GroupState.STATE_STOPPED
        here = (each.state == stopped and not each.servers for each in self.groups().values())
        return all(here) and family_of(self.process.pid) == {self.process.pid}

    def close(self) -> None:
        self._channel.close()


class Pole:
    """A CartPole of a farm, and a local one that takes the same actions: their observations are equal, bit for bit.

    Args:
        target: HOST:PORT of the farm's gateway.
        options: For the proxy.
    """

    def __init__(self, target: str, **options: Any) -> None:
        self._env = RemoteEnv(target, "CartPole-v1", **options)
        self._local = gymnasium.make("CartPole-v1")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reset(self, seed: int) -> None:
        np.testing.assert_array_equal(
            self._env.reset(seed=seed)[0], self._local.reset(seed=seed)[0]
        )

    def step(self, *actions: int) -> None:
        for action in actions:
            np.testing.assert_array_equal(self._env.step(action)[0], self._local.step(action)[0])

    def close(self) -> None:
        self._env.close()


@contextlib.contextmanager
def on_demand(file: Path, *options: str, port: int = 0, **variables: str) -> Iterator[OnDemand]:
    """Runs a farm of the groups in a file; none of its processes is left."""
    up = (sys.executable, "-m", "envwire", "farm", "up")
    command = [*up, "--config", str(file), "--port", str(port)]
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        text=True,
        cwd=file.parent,
        env={**os.environ, **variables},
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("ready: ")
        farm = OnDemand(process, said.split()[1].replace("0.0.0.0", "127.0.0.1"))
        try:
            yield farm
        finally:
            family = family_of(process.pid)  # those of a farm that was killed have ended already
            farm.close()
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                assert process.wait(SECONDS) == 0
        assert not [pid for pid in family if Path("/proc", str(pid)).exists()]
