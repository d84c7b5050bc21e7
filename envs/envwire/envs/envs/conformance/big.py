"""`Conformance/Big-v0`: observations of any size."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._generic import Info, Options
from envwire.envs.core import Env


class BigEnv(Env[Any, Any]):
    """An action *n* returns a uint8 array of *n* elements ``i % 251``; a list returns a tuple of such arrays."""

    observation_space = spaces.Box(0, 255, (2**20,), np.uint8)
    action_space = spaces.Discrete(2**31)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Returns an array of one byte."""
        super().reset(seed=seed, options=options)
        return _bytes(1), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Returns arrays."""
        if isinstance(action, list):
            counts = cast("list[int]", action)
            return tuple(_bytes(count) for count in counts), 0.0, False, False, {}
        return _bytes(action), 0.0, False, False, {}


def _bytes(count: int) -> NDArray[np.uint8]:
    return (np.arange(count) % 251).astype(np.uint8)
