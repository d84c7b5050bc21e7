"""remote-gym: its `RemoteEnvironment` with its own server, each environment in a process, which is the default.

Its server loads this file a second time, as the entry point that makes environments.
"""

from __future__ import annotations

import multiprocessing
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.setup import Setup, Step


class Sized(gymnasium.Env[NDArray[Any], int]):
    """Returns the same preallocated observation, reward 1.0, and never ends."""

    # Gymnasium removed this attribute; remote-gym's server reads it, and needs values that fit its float32.
    reward_range = (np.float32(0), np.float32(1))

    def __init__(self, size: int) -> None:
        setup = Setup(size=size)
        self._observation = np.zeros(setup.shape, setup.dtype)
        self.observation_space = gymnasium.spaces.Box(0, 255, setup.shape, np.dtype(setup.dtype))
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, **_: Any) -> tuple[NDArray[Any], dict[str, Any]]:
        """Returns the observation."""
        return self._observation, {}

    def step(self, action: int) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Returns the observation, whatever the action."""
        del action
        return self._observation, 1.0, False, False, {}


def create_environment(env_id: int, size: int, **_: Any) -> Sized:
    """Makes an environment; remote-gym calls this by its name."""
    del env_id
    return Sized(size)


def _free_port() -> int:
    # Its server needs an explicit port.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def serve(setup: Setup, announce: Callable[[int], None]) -> None:
    """Serves the trivial environment."""
    from remote_gym import create_remote_environment_server

    # By default it forks while its gRPC server runs, and such a start sometimes hangs. The cost of a step is the same.
    multiprocessing.set_start_method("spawn")
    entry_point = str(Path(__file__).relative_to(Path.cwd()))
    arguments = {"entrypoint": entry_point, "entrypoint_kwargs": {"size": setup.size}}
    port = _free_port()
    server = create_remote_environment_server(arguments, "127.0.0.1", port)
    announce(port)
    server.wait_for_termination()


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one step."""
    from remote_gym import RemoteEnvironment

    del setup
    env = RemoteEnvironment("127.0.0.1", port, {})
    try:
        env.reset()
        yield lambda: env.step(0)
    finally:
        env.close()
