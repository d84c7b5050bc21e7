"""The acrobot: two links, a motor at the joint between them, and a height to reach.

After Sutton, "Generalization in Reinforcement Learning" (1996), with the equations of motion in
Sutton and Barto's book.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env
from envwire.envs.envs.classic_control.reset_bounds import reset_bounds
from envwire.envs.envs.drawing import BLACK, Canvas, Color, is_unrendered, render_metadata, rotate

_Floats: TypeAlias = NDArray[np.float32]

_LINK_COLOR: Color = (0, 204, 204)
_JOINT_COLOR: Color = (204, 204, 0)


class AcrobotEnv(Env["NDArray[np.float32]", "int | np.integer[Any]"]):
    """One acrobot.

    An action is 0, 1 or 2: a torque of -1, 0 or 1 N m. An observation is float32 of shape (6,): the
    cosine and sine of the first angle (0 is hanging down), those of the second (relative to the
    first), and both angular velocities in rad/s. Every step costs 1.0 until the free end is one
    link above the hinge, where the episode terminates. The state begins uniformly in [-0.1, 0.1];
    `reset` takes other bounds as ``options={"low": ..., "high": ...}``.

    Args:
        render_mode: ``"rgb_array"`` or ``None``.
    """

    metadata = render_metadata("rgb_array", fps=15)

    dt = 0.2
    LINK_LENGTH_1 = 1.0
    LINK_LENGTH_2 = 1.0
    LINK_MASS_1 = 1.0
    LINK_MASS_2 = 1.0
    LINK_COM_POS_1 = 0.5
    LINK_COM_POS_2 = 0.5
    LINK_MOI = 1.0
    MAX_VEL_1 = 4 * math.pi
    MAX_VEL_2 = 9 * math.pi
    AVAIL_TORQUE: ClassVar[list[float]] = [-1.0, 0.0, 1.0]
    SCREEN_DIM = 500

    #: Noise on the torque, in N m either way.
    torque_noise_max = 0.0
    #: ``"book"`` for the dynamics of the book, ``"nips"`` for those of the 1996 paper.
    book_or_nips = "book"

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        high = np.array([1.0, 1.0, 1.0, 1.0, self.MAX_VEL_1, self.MAX_VEL_2], dtype=np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.action_space = spaces.Discrete(3)
        self.state: NDArray[np.floating[Any]] | None = None

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[_Floats, Info]:
        """Starts hanging down, nearly at rest.

        Raises:
            ValueError: The bounds in ``options`` are not numbers, or in the wrong order.
        """
        super().reset(seed=seed)
        low, high = reset_bounds(options, -0.1, 0.1)
        state = self.np_random.uniform(low=low, high=high, size=(4,)).astype(np.float32)
        self.state = state
        return self._observe(state), {}

    def step(self, action: int | np.integer[Any]) -> tuple[_Floats, float, bool, bool, Info]:
        """Applies the torque for 0.2 s.

        Raises:
            AssertionError: There was no reset yet.
        """
        if self.state is None:
            raise AssertionError("Call reset before using step method.")
        torque = self.AVAIL_TORQUE[action]
        if self.torque_noise_max > 0:
            torque += self.np_random.uniform(-self.torque_noise_max, self.torque_noise_max)
        state: list[float] = self.state.tolist()
        theta1, theta2, speed1, speed2 = rk4(lambda s: self._derivative(s, torque), state, self.dt)
        moved = np.array(
            [
                wrap(theta1, -math.pi, math.pi),
                wrap(theta2, -math.pi, math.pi),
                min(max(speed1, -self.MAX_VEL_1), self.MAX_VEL_1),
                min(max(speed2, -self.MAX_VEL_2), self.MAX_VEL_2),
            ]
        )
        self.state = moved
        terminated = bool(-np.cos(moved[0]) - np.cos(moved[1] + moved[0]) > 1.0)
        return self._observe(moved), 0.0 if terminated else -1.0, terminated, False, {}

    def _observe(self, state: NDArray[np.floating[Any]]) -> _Floats:
        theta1, theta2, speed1, speed2 = state
        angles = [np.cos(theta1), np.sin(theta1), np.cos(theta2), np.sin(theta2)]
        return np.array([*angles, speed1, speed2], dtype=np.float32)

    def _derivative(self, state: list[float], torque: float) -> list[float]:
        """The derivative of (theta1, theta2, theta1', theta2') with respect to time.

        The order of the operations is part of the result: floating point is compared bit for bit.
        """
        theta1, theta2, speed1, speed2 = state
        m1, m2 = self.LINK_MASS_1, self.LINK_MASS_2
        l1, c1, c2 = self.LINK_LENGTH_1, self.LINK_COM_POS_1, self.LINK_COM_POS_2
        moi, g = self.LINK_MOI, 9.8
        cos2, sin2 = float(np.cos(theta2)), float(np.sin(theta2))
        d1 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos2) + moi + moi
        d2 = m2 * (c2**2 + l1 * c2 * cos2) + moi
        phi2 = m2 * c2 * g * float(np.cos(theta1 + theta2 - math.pi / 2.0))
        phi1 = (
            -m2 * l1 * c2 * speed2**2 * sin2
            - 2 * m2 * l1 * c2 * speed2 * speed1 * sin2
            + (m1 * c1 + m2 * l1) * g * float(np.cos(theta1 - math.pi / 2))
            + phi2
        )
        if self.book_or_nips == "nips":
            pull = torque + d2 / d1 * phi1 - phi2
        else:
            pull = torque + d2 / d1 * phi1 - m2 * l1 * c2 * speed1**2 * sin2 - phi2
        acc2 = pull / (m2 * c2**2 + moi - d2**2 / d1)
        acc1 = -(d2 * acc2 + phi1) / d1
        return [speed1, speed2, acc1, acc2]

    def render(self) -> NDArray[np.uint8] | None:
        """Draws both links and the height to reach, shape (500, 500, 3)."""
        if is_unrendered(self) or self.state is None:
            return None
        theta1, theta2, _, _ = self.state.tolist()
        reach = self.LINK_LENGTH_1 + self.LINK_LENGTH_2 + 0.2
        scale, middle = self.SCREEN_DIM / (2 * reach), self.SCREEN_DIM / 2
        canvas = Canvas(self.SCREEN_DIM, self.SCREEN_DIM)
        height = middle + self.LINK_LENGTH_1 * scale
        canvas.polyline([(0, height), (self.SCREEN_DIM - 1, height)], BLACK)
        width = 0.1 * scale
        hinge, joints = (middle, middle), [(middle, middle)]
        for length, angle in (
            (self.LINK_LENGTH_1 * scale, theta1 - math.pi / 2),
            (self.LINK_LENGTH_2 * scale, theta1 + theta2 - math.pi / 2),
        ):
            link = [(0.0, -width), (0.0, width), (length, width), (length, -width)]
            canvas.polygon(rotate(link, angle, hinge), _LINK_COLOR)
            hinge = rotate([(length, 0.0)], angle, hinge)[0]
            joints.append(hinge)
        for joint in joints[:-1]:  # over the links, which may fold back
            canvas.disc(joint, width, _JOINT_COLOR)
        return canvas.frame()


def wrap(x: float, low: float, high: float) -> float:
    """Moves ``x`` by whole turns into [low, high]."""
    while x > high:
        x -= high - low
    while x < low:
        x += high - low
    return x


def rk4(
    derivative: Callable[[list[float]], list[float]], start: list[float], dt: float
) -> list[float]:
    """Integrates over ``dt`` by one step of the classic fourth-order Runge-Kutta method."""
    half = dt / 2.0
    k1 = derivative(start)
    k2 = derivative([y + half * k for y, k in zip(start, k1, strict=True)])
    k3 = derivative([y + half * k for y, k in zip(start, k2, strict=True)])
    k4 = derivative([y + dt * k for y, k in zip(start, k3, strict=True)])
    slopes = zip(start, k1, k2, k3, k4, strict=True)
    return [y + dt / 6.0 * (a + 2 * b + 2 * c + d) for y, a, b, c, d in slopes]
