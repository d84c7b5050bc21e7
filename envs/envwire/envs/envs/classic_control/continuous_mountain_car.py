"""The mountain car with a continuous force instead of three actions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info
from envwire.envs.envs.classic_control.mountain_car import Valley


class Continuous_MountainCarEnv(Valley["NDArray[np.float32]"]):  # noqa: N801 - the public name
    """The car with a force in [-1, 1], float32 of shape (1,).

    Each step costs 0.1 times the force squared; reaching the goal, position 0.45, earns 100 and
    terminates.

    Args:
        render_mode: ``"rgb_array"`` or ``None``.
        goal_velocity: The lowest velocity at which the goal counts as reached.
    """

    def __init__(self, render_mode: str | None = None, goal_velocity: float = 0) -> None:
        super().__init__(render_mode, goal_velocity)
        self.goal_position = 0.45
        self.min_action = -1.0
        self.max_action = 1.0
        self.power = 0.0015
        self.action_space = spaces.Box(self.min_action, self.max_action, (1,), dtype=np.float32)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, Info]:
        """Drives for one time step.

        Raises:
            AssertionError: There was no reset yet.
        """
        if self.state is None:
            raise AssertionError("Call reset before using step method.")
        # The state is float32 after the first step. NumPy's scalars are kept, so all of this is
        # computed in float32.
        position, velocity = self.state
        force: Any = min(max(action[0], self.min_action), self.max_action)
        velocity += force * self.power - 0.0025 * math.cos(3 * position)
        velocity = max(min(velocity, self.max_speed), -self.max_speed)
        position = max(min(position + velocity, self.max_position), self.min_position)
        if position == self.min_position and velocity < 0:
            velocity = 0
        terminated = self._at_goal(position, velocity)
        reward = (100.0 if terminated else 0.0) - math.pow(action[0], 2) * 0.1
        self.state = np.array([position, velocity], dtype=np.float32)
        return self.state.copy(), reward, terminated, False, {}
