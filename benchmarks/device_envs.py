"""Environments that step on a GPU with torch: CartPole's dynamics with observations of any width, and cameras."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import envwire.envs as gym
from envwire.envs import spaces
from envwire.envs.vector import AutoresetMode, VectorEnv
from envwire.envs.vector.utils import batch_space

ID = "bench/TorchCartPole-v0"


class TorchCartPoles(VectorEnv[Any, Any, Any]):
    """Many poles. Each step takes the actions 0 and 1, and ends and restarts the episodes of fallen poles.

    Args:
        num_envs: How many.
        width: Numbers of an observation: the state, and functions of it.
        side: Height and width of a picture that is the observation instead; 0 for none.
        device: Where they step.
    """

    def __init__(
        self, num_envs: int = 1, width: int = 4, side: int = 0, device: str = "cuda", **_: Any
    ) -> None:
        self.num_envs, self._side, self._device = num_envs, side, device
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = None
        picture = spaces.Box(0, 255, (3, side, side), np.uint8)
        numbers = spaces.Box(-np.inf, np.inf, (width,), np.float32)
        self.single_observation_space = picture if side else numbers
        self.single_action_space = spaces.Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._random = torch.Generator(device)
        self._phases = torch.arange(width // 4, device=device, dtype=torch.float32)
        self._columns = torch.linspace(-2.4, 2.4, max(side, 1), device=device)

    def _drawn(self) -> Any:
        shape = self.num_envs, 4
        return torch.rand(shape, generator=self._random, device=self._device) * 0.1 - 0.05

    def _observation(self) -> Any:
        if not self._side:
            return (self._state[:, None, :] + self._phases[:, None]).reshape(self.num_envs, -1)
        lit = (self._columns - self._state[:, :1]).abs() < 0.2
        rows = lit.to(torch.uint8).mul_(255)[:, None, None, :]
        return rows.expand(self.num_envs, 3, self._side, self._side).contiguous()

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Starts all episodes."""
        del options
        if seed is not None:
            self._random.manual_seed(int(seed))
        self._state = self._drawn()
        return self._observation(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Takes a step of all poles."""
        actions = torch.as_tensor(actions, device=self._device)
        place, speed, angle, turn = self._state.unbind(1)
        force = actions.to(torch.float32) * 20 - 10
        cosine, sine = angle.cos(), angle.sin()
        pushed = (force + 0.05 * turn * turn * sine) / 1.1
        turned = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
        moved = pushed - 0.05 * turned * cosine / 1.1
        parts = (
            place + 0.02 * speed,
            speed + 0.02 * moved,
            angle + 0.02 * turn,
            turn + 0.02 * turned,
        )
        state = torch.stack(parts, 1)
        fallen = (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 0.2095)
        self._state = torch.where(fallen[:, None], self._drawn(), state)
        reward = torch.ones(self.num_envs, device=self._device)
        return self._observation(), reward, fallen, torch.zeros_like(fallen), {}


gym.register(id=ID, vector_entry_point="benchmarks.device_envs:TorchCartPoles")
