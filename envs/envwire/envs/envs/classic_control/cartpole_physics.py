"""The dynamics and the drawing of cart-poles, for one or for an array of them.

The equations are those of Barto, Sutton and Anderson, "Neuronlike Adaptive Elements That Can Solve
Difficult Learning Control Problems" (1983), for a frictionless track.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs.envs.rendering import BLACK, Canvas, Color, rotate

_POLE_COLOR: Color = (202, 152, 101)
_AXLE_COLOR: Color = (129, 132, 203)
_WIDTH, _HEIGHT = 600, 400


class CartPolePhysics:
    """The constants and the motion of a cart-pole, for one or for an array of them.

    Attributes:
        gravity: In m/s².
        masscart: In kg.
        masspole: In kg.
        length: Half the pole's length, in m.
        force_mag: The push, in N.
        tau: The time step, in s.
        kinematics_integrator: ``"euler"``; anything else is semi-implicit Euler.
        theta_threshold_radians: The angle at which the pole counts as fallen.
        x_threshold: The position at which the cart leaves the track, in m.
    """

    def __init__(self) -> None:
        self.gravity = 9.8
        self.masscart = 1.0
        self.masspole = 0.1
        self.total_mass = self.masspole + self.masscart
        self.length = 0.5
        self.polemass_length = self.masspole * self.length
        self.force_mag = 10.0
        self.tau = 0.02
        self.kinematics_integrator = "euler"
        self.theta_threshold_radians = 12 * 2 * math.pi / 360
        self.x_threshold = 2.4

    def observation_box(self) -> spaces.Box:
        """The space of one observation, wide enough for the state that ends an episode."""
        bounds = (self.x_threshold * 2, np.inf, self.theta_threshold_radians * 2, np.inf)
        high = np.array(bounds, dtype=np.float32)
        return spaces.Box(-high, high, dtype=np.float32)

    def move(self, state: Any, force: Any, cos: Any, sin: Any) -> tuple[Any, Any, Any, Any]:
        """The state (x, x', theta, theta') one time step later.

        The order of the operations is part of the result: floating point is compared bit for bit.
        """
        x, x_dot, theta, theta_dot = state
        temp = (force + self.polemass_length * (theta_dot * theta_dot) * sin) / self.total_mass
        theta_acc = (self.gravity * sin - cos * temp) / (
            self.length * (4.0 / 3.0 - self.masspole * (cos * cos) / self.total_mass)
        )
        x_acc = temp - self.polemass_length * theta_acc * cos / self.total_mass
        if self.kinematics_integrator == "euler":
            x, theta = x + self.tau * x_dot, theta + self.tau * theta_dot
            return x, x_dot + self.tau * x_acc, theta, theta_dot + self.tau * theta_acc
        x_dot, theta_dot = x_dot + self.tau * x_acc, theta_dot + self.tau * theta_acc
        return x + self.tau * x_dot, x_dot, theta + self.tau * theta_dot, theta_dot

    def draw(self, x: float, theta: float) -> NDArray[np.uint8]:
        """A picture of the cart at ``x`` and the pole at ``theta``, shape (400, 600, 3)."""
        scale = _WIDTH / (2 * self.x_threshold)
        cart_x, track_y = x * scale + _WIDTH / 2, 100.0
        axle = (cart_x, track_y + 7.5)
        pole_top = scale * 2 * self.length - 5
        canvas = Canvas(_WIDTH, _HEIGHT)
        canvas.polyline([(0, track_y), (_WIDTH, track_y)], BLACK)
        canvas.rectangle((cart_x - 25, track_y - 15), (cart_x + 25, track_y + 15), BLACK)
        pole = [(-5.0, -5.0), (-5.0, pole_top), (5.0, pole_top), (5.0, -5.0)]
        canvas.polygon(rotate(pole, -theta, axle), _POLE_COLOR)
        canvas.disc(axle, 5, _AXLE_COLOR)
        return canvas.frame()

    def sketch(self, x: float, theta: float) -> str:
        """The cart and the pole in two lines of text, and a third with the numbers."""
        columns = 61
        middle = columns // 2
        cart = min(max(round(x / self.x_threshold * middle) + middle, 0), columns - 1)
        pole = "|" if abs(theta) < math.radians(2) else "/" if theta > 0 else "\\"
        track = "-" * cart + "#" + "-" * (columns - cart - 1)
        numbers = f"x = {x:+.3f} m   theta = {math.degrees(theta):+.1f} deg"
        return f"{' ' * cart}{pole}\n{track}\n{numbers}\n"
