"""The mountain car: too weak to drive up a hill, it must swing to and fro in the valley.

After Moore, "Efficient Memory-Based Learning for Robot Control" (1990).
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import ActType, Env
from envwire.envs.envs.classic_control.reset_bounds import reset_bounds
from envwire.envs.envs.drawing import BLACK, Canvas, Color, is_unrendered, render_metadata, rotate

_Floats: TypeAlias = NDArray[np.float32]

_WHEEL_COLOR: Color = (128, 128, 128)
_FLAG_COLOR: Color = (204, 204, 0)
_WIDTH, _HEIGHT = 600, 400


class Valley(Env["NDArray[np.float32]", ActType]):
    """The base of both mountain cars: landscape, limits, initial state and drawing.

    An observation is float32 of shape (2,): position in [-1.2, 0.6] and velocity in [-0.07, 0.07].
    The car begins at rest, uniformly in [-0.6, -0.4]; `reset` takes other bounds as
    ``options={"low": ..., "high": ...}``.
    """

    metadata = render_metadata("rgb_array", fps=30)
    goal_position: float

    def __init__(self, render_mode: str | None, goal_velocity: float) -> None:
        self.min_position = -1.2
        self.max_position = 0.6
        self.max_speed = 0.07
        self.goal_velocity = goal_velocity
        self.render_mode = render_mode
        low = np.array([self.min_position, -self.max_speed], dtype=np.float32)
        high = np.array([self.max_position, self.max_speed], dtype=np.float32)
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.state: Any = None

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[_Floats, Info]:
        """Starts at rest near the bottom.

        Raises:
            ValueError: The bounds in ``options`` are not numbers, or in the wrong order.
        """
        super().reset(seed=seed)
        low, high = reset_bounds(options, -0.6, -0.4)
        self.state = np.array([self.np_random.uniform(low=low, high=high), 0])
        return np.array(self.state, dtype=np.float32), {}

    def _at_goal(self, position: float, velocity: float) -> bool:
        return bool(position >= self.goal_position and velocity >= self.goal_velocity)

    def render(self) -> NDArray[np.uint8] | None:
        """Draws the car in the valley, shape (400, 600, 3)."""
        if is_unrendered(self) or self.state is None:
            return None
        canvas = Canvas(_WIDTH, _HEIGHT)
        x = np.linspace(self.min_position, self.max_position, 100)
        canvas.polyline([self._pixel(each) for each in x.tolist()], BLACK)
        self._draw_car(canvas, float(self.state[0]))
        self._draw_flag(canvas)
        return canvas.frame()

    def _pixel(self, position: float) -> tuple[float, float]:
        """The pixel of a position on the ground."""
        scale = _WIDTH / (self.max_position - self.min_position)
        height = math.sin(3 * position) * 0.45 + 0.55
        return (position - self.min_position) * scale, height * scale

    def _draw_car(self, canvas: Canvas, position: float) -> None:
        x, y = self._pixel(position)
        slope = math.atan(3 * 0.45 * math.cos(3 * position))
        # The axles are one wheel radius away from the ground, perpendicular to it.
        center = (x - 8 * math.sin(slope), y + 8 * math.cos(slope))
        body = [(-20.0, 0.0), (-20.0, 20.0), (20.0, 20.0), (20.0, 0.0)]
        canvas.polygon(rotate(body, slope, center), BLACK)
        for wheel in rotate([(10.0, 0.0), (-10.0, 0.0)], slope, center):
            canvas.disc(wheel, 8, _WHEEL_COLOR)

    def _draw_flag(self, canvas: Canvas) -> None:
        x, y = self._pixel(self.goal_position)
        canvas.polyline([(x, y), (x, y + 50)], BLACK)
        canvas.polygon([(x, y + 50), (x, y + 40), (x + 25, y + 45)], _FLAG_COLOR)


class MountainCarEnv(Valley["int | np.integer[Any]"]):
    """The car with three actions: 0 drives left, 1 rolls, 2 drives right.

    Every step costs 1.0; the episode terminates at the goal, position 0.5.

    Args:
        render_mode: ``"rgb_array"`` or ``None``.
        goal_velocity: The lowest velocity at which the goal counts as reached.
    """

    def __init__(self, render_mode: str | None = None, goal_velocity: float = 0) -> None:
        super().__init__(render_mode, goal_velocity)
        self.goal_position = 0.5
        self.force = 0.001
        self.gravity = 0.0025
        self.action_space = spaces.Discrete(3)

    def step(self, action: int | np.integer[Any]) -> tuple[_Floats, float, bool, bool, Info]:
        """Drives for one time step.

        Raises:
            AssertionError: The action is not 0, 1 or 2, or there was no reset yet.
        """
        if not self.action_space.contains(action):
            raise AssertionError(f"action {action!r} ({type(action)}) invalid: expected 0, 1 or 2")
        if self.state is None:
            raise AssertionError("Call reset before using step method.")
        position, velocity = map(float, self.state)
        velocity += (int(action) - 1) * self.force + math.cos(3 * position) * -self.gravity
        velocity = min(max(velocity, -self.max_speed), self.max_speed)
        position = min(max(position + velocity, self.min_position), self.max_position)
        if position == self.min_position and velocity < 0:
            velocity = 0.0
        self.state = (position, velocity)
        observation = np.array(self.state, dtype=np.float32)
        return observation, -1.0, self._at_goal(position, velocity), False, {}

    def get_keys_to_action(self) -> dict[tuple[int, ...], int]:
        """The actions of the arrow keys, for playing by hand."""
        return {(): 1, (276,): 0, (275,): 2, (275, 276): 1}
