"""OpenEnv: its WebSocket client, in blocking mode, with its own FastAPI application. Observations are JSON lists."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import uvicorn
from numpy.typing import NDArray
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from benchmarks.peers.setup import Setup, Step


class Move(Action):
    """The action."""

    move: int


class Seen(Observation):
    """The observation as a list of numbers, as OpenEnv's own environments send pictures."""

    values: list[int] | list[float]


class Sized(Environment[Move, Seen, State]):
    """Returns the same observation, reward 1.0, and never ends."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self._observation = np.zeros(setup.shape, setup.dtype)

    def _see(self) -> Seen:
        return Seen(values=self._observation.tolist(), reward=1.0, done=False)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Seen:
        """Returns the observation."""
        del seed, episode_id
        return self._see()

    def step(self, action: Move, timeout_s: float | None = None, **_: Any) -> Seen:
        """Returns the observation, whatever the action."""
        del action, timeout_s
        return self._see()

    @property
    def state(self) -> State:
        """Returns no state."""
        return State()


class Client(EnvClient[Move, NDArray[Any], State]):
    """Converts the received list to the array that an agent needs."""

    dtype: str = "uint8"

    def _step_payload(self, action: Move) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[NDArray[Any]]:
        values = np.asarray(payload["observation"]["values"], self.dtype)
        return StepResult(observation=values, reward=payload["reward"], done=payload["done"])

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)


def serve(setup: Setup, announce: Callable[[int], None]) -> None:
    """Serves the trivial environment."""
    app = create_fastapi_app(lambda: Sized(setup), Move, Seen, max_concurrent_envs=setup.clients)
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    # Clients that connect before the application runs wait in the backlog.
    announce(listener.getsockname()[1])
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one step."""
    client = Client(f"http://127.0.0.1:{port}")
    client.dtype = setup.dtype
    with client.sync() as env:
        env.reset()
        move = Move(move=0)
        yield lambda: env.step(move)
