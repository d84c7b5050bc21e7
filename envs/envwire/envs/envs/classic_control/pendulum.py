"""The pendulum: swing a rod up by a torque at its hinge, and keep it there."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env
from envwire.envs.envs.classic_control.reset_bounds import require_number
from envwire.envs.envs.drawing import BLACK, Canvas, Color, is_unrendered, render_metadata, rotate

_Floats: TypeAlias = NDArray[np.float32]

_ROD_COLOR: Color = (204, 77, 77)
_TORQUE_COLOR: Color = (77, 77, 204)
_SIZE = 500


class PendulumEnv(Env["NDArray[np.float32]", "NDArray[np.float32]"]):
    """One pendulum.

    An action is a torque in [-2, 2] N m, float32 of shape (1,). An observation is float32 of shape
    (3,): the cosine and sine of the angle from upright, and the angular velocity in rad/s, within
    [-8, 8]. The reward is -(angle² + 0.1 velocity² + 0.001 torque²), at most 0. Episodes never
    terminate. Angle and velocity begin uniformly within ±pi and ±1; `reset` takes other limits as
    ``options={"x_init": ..., "y_init": ...}``.

    Args:
        render_mode: ``"rgb_array"`` or ``None``.
        g: Gravity, in m/s².
    """

    metadata = render_metadata("rgb_array", fps=30)

    def __init__(self, render_mode: str | None = None, g: float = 10.0) -> None:
        self.max_speed = 8
        self.max_torque = 2.0
        self.dt = 0.05
        self.g = g
        self.m = 1.0
        self.l = 1.0
        self.render_mode = render_mode
        high = np.array([1.0, 1.0, self.max_speed], dtype=np.float32)
        self.action_space = spaces.Box(-self.max_torque, self.max_torque, (1,), dtype=np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.state: NDArray[np.float64] | None = None
        self.last_u: float | None = None

    def step(self, action: _Floats) -> tuple[_Floats, np.float64, bool, bool, Info]:
        """Applies the torque for 0.05 s.

        Raises:
            AssertionError: There was no reset yet.
        """
        if self.state is None:
            raise AssertionError("Call reset before using step method.")
        theta, speed = self.state.tolist()
        # The torque stays in the action's float32, as in Gymnasium: otherwise the reward would differ.
        torque: Any = np.asarray(action).clip(-self.max_torque, self.max_torque)[0]
        cost = angle_normalize(theta) ** 2 + 0.1 * speed**2 + float(0.001 * torque**2)
        push = float(3.0 / (self.m * self.l**2) * torque)
        speed = speed + (3 * self.g / (2 * self.l) * float(np.sin(theta)) + push) * self.dt
        speed = min(max(speed, -self.max_speed), self.max_speed)
        self.state = np.array([theta + speed * self.dt, speed])
        self.last_u = float(torque)
        return self._observe(), np.float64(-cost), False, False, {}

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[_Floats, Info]:
        """Starts anywhere, at a low speed.

        Raises:
            ValueError: A limit in ``options`` is not a number.
        """
        super().reset(seed=seed)
        options = options or {}
        x_limit = require_number("x_init", options.get("x_init", math.pi))
        y_limit = require_number("y_init", options.get("y_init", 1.0))
        high = np.array([x_limit, y_limit])
        self.state = self.np_random.uniform(low=-high, high=high)
        self.last_u = None
        return self._observe(), {}

    def _observe(self) -> _Floats:
        theta, speed = np.asarray(self.state).tolist()
        return np.array([np.cos(theta), np.sin(theta), speed], dtype=np.float32)

    def render(self) -> NDArray[np.uint8] | None:
        """Draws the rod, and an arc of dots for the torque; shape (500, 500, 3)."""
        if is_unrendered(self) or self.state is None:
            return None
        middle, scale = _SIZE / 2, _SIZE / 4.4
        angle = float(self.state[0]) + math.pi / 2
        canvas = Canvas(_SIZE, _SIZE)
        width = 0.1 * scale
        rod = [(0.0, -width), (0.0, width), (scale, width), (scale, -width)]
        canvas.polygon(rotate(rod, angle, (middle, middle)), _ROD_COLOR)
        for end in rotate([(0.0, 0.0), (scale, 0.0)], angle, (middle, middle)):
            canvas.disc(end, width, _ROD_COLOR)
        self._draw_torque(canvas, middle, scale)
        canvas.disc((middle, middle), 0.05 * scale, BLACK)
        return canvas.frame()

    def _draw_torque(self, canvas: Canvas, middle: float, scale: float) -> None:
        """Marks the torque by dots around the hinge, counter-clockwise if it is positive."""
        torque = self.last_u or 0.0
        dots = round(10 * abs(torque) / self.max_torque)
        for dot in range(dots):
            turn = math.copysign(0.15 * (dot + 1), torque)
            at = rotate([(0.0, 0.4 * scale)], turn, (middle, middle))[0]
            canvas.disc(at, 0.03 * scale, _TORQUE_COLOR)


def angle_normalize(x: float) -> float:
    """The same angle in [-pi, pi)."""
    return (x + math.pi) % (2 * math.pi) - math.pi
