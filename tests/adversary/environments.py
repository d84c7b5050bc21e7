"""Environments that mean harm, or are slow enough for a client that does. Registered on import.

Each writes down that it was made, so that a test sees what was made and never answered.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import envwire.envs as gym

#: Where traces are left; see `ledger.MARK`.
_DIRECTORY = "ENVWIRE_ADVERSARY"


def leave_trace(name: str, content: Any) -> None:
    """Appends a line to a file that the tests read."""
    with Path(os.environ[_DIRECTORY], name).open("a") as file:
        file.write(json.dumps(content) + "\n")


class Hostile(gym.Env[int, Any]):
    """What they have in common: an action does something, and the observation says who it is."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    observation_space = action_space = gym.spaces.Discrete(2**31)
    name = 0

    def __init__(self, render_mode: str | None = None, **kwargs: Any) -> None:
        self.render_mode = render_mode
        leave_trace("made", [type(self).__name__, sorted(kwargs)])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return self.name, {"pid": os.getpid()}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return self.name, 0.0, False, False, {"did": self.act(action)}

    def act(self, action: Any) -> Any:
        """Does what an action says, and returns what may be told of it."""


class Sleeper(Hostile):
    """Says that it sleeps, and does so for as many milliseconds as an action says."""

    name = 1

    def act(self, action: int) -> None:
        leave_trace("naps", action)
        time.sleep(action / 1000)


class Flooder(Hostile):
    """Answers each step with as many bytes as an action says."""

    observation_space = gym.spaces.Box(0, 255, (1,), np.uint8)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.ones(action, np.uint8), 0.0, False, False, {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        _, info = super().reset(seed=seed)
        return np.ones(1, np.uint8), info


class Warner(Hostile):
    """Warns of its client's affairs, and fails before the warning is told."""

    def act(self, action: int) -> None:
        warnings.warn(f"the client played {action}", stacklevel=1)
        if action:
            raise RuntimeError("it fails")


class Forbidden(Hostile):
    """Nobody serves it."""

    name = 666


def _register(env: type[Hostile]) -> None:
    gym.register(
        id=f"adversary/{env.__name__}-v0",
        entry_point=f"{__name__}:{env.__name__}",
        disable_env_checker=True,
    )


for _env in (Sleeper, Flooder, Warner, Forbidden):
    _register(_env)
