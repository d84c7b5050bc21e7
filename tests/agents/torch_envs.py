"""An environment of a module that computes with torch when it is imported, which starts threads."""

from __future__ import annotations

import importlib
from typing import Any

import envwire.envs as gym

torch: Any = importlib.import_module("torch")
ENV = "torch/Product-v0"
#: So large that torch divides the product among threads.
SIZE = 1024
# Two threads even where there is one processor, or a setting of OpenMP asks for one.
torch.set_num_threads(2)


def product() -> int:
    """Returns an element of a product of matrices."""
    ones = torch.ones(SIZE, SIZE)
    return int((ones @ ones)[0, 0].item())


product()


class Product(gym.Env[int, int]):
    """Each observation is computed by torch."""

    def __init__(self) -> None:
        self.observation_space: Any = gym.spaces.Discrete(SIZE + 1)
        self.action_space: Any = gym.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return product(), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return product(), 0.0, False, False, {}


gym.register(id=ENV, entry_point="tests.agents.torch_envs:Product")
