"""An environment with large observations, drawn from its generator, in one buffer for all steps."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import envwire.envs as gym

FRAMES = "direct/Frames-v0"


class Frames(gym.Env[Any, Any]):
    """Counts its steps, in its rewards; its infos are empty unless it is chatty.

    Args:
        shape: Shape of an observation.
        chatty: Whether an info carries the count and a large array.
        uneven: Whether every third observation is of another size than the others.
        still: Whether only one row of an observation changes in a step.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        shape: Sequence[int] = (4,),
        chatty: bool = False,
        uneven: bool = False,
        still: bool = False,
    ) -> None:
        self.observation_space = gym.spaces.Box(0, 255, tuple(shape), np.uint8)
        self.action_space = gym.spaces.Discrete(4)
        self._buffer = np.zeros(tuple(shape), np.uint8)
        self._chatty, self._uneven, self._still = chatty, uneven, still
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._steps = 0
        return self._observation(), {"pid": os.getpid()}

    def step(self, action: int) -> Any:
        self._steps += 1
        info = {"steps": self._steps, "noise": self.np_random.random(1000)} if self._chatty else {}
        return self._observation(), float(self._steps * 10 + action), False, False, info

    def imported(self) -> list[str]:
        """Returns the names of the modules in its process."""
        return list(sys.modules)

    def _observation(self) -> Any:
        # The same memory each time: whoever sends it must have sent it before the next step.
        changed = self._buffer[:1] if self._still and self._steps else self._buffer
        changed[...] = self.np_random.integers(0, 256, changed.shape, np.uint8)
        return self._buffer[1:] if self._uneven and self._steps % 3 == 1 else self._buffer


gym.register(id=FRAMES, entry_point="tests.direct.hosted_frames:Frames", disable_env_checker=True)
