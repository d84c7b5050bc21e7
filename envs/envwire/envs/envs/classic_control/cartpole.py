"""The cart-pole: keep a pole upright by pushing the cart that it is hinged on."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs import logger, spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env
from envwire.envs.envs.classic_control.reset_bounds import reset_bounds
from envwire.envs.envs.drawing import BLACK, Canvas, Color, is_unrendered, render_metadata, rotate
from envwire.envs.vector.utils import batch_space
from envwire.envs.vector.vector_env import AutoresetMode, VectorEnv

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


_Floats: TypeAlias = NDArray[np.float32]
_Bools: TypeAlias = NDArray[np.bool_]


class CartPoleEnv(CartPolePhysics, Env["NDArray[np.float32]", "int | np.integer[Any]"]):
    """One cart-pole.

    An action is 0 (push left) or 1 (push right). An observation is float32 of shape (4,): position
    in m, velocity in m/s, angle from upright in rad, angular velocity in rad/s. Each begins
    uniformly in [-0.05, 0.05]; `reset` takes other bounds as ``options={"low": ..., "high": ...}``.
    The episode terminates when the pole leans more than 12 degrees or the cart is more than 2.4 m
    from the middle; each step up to and including that one earns 1.0.

    Args:
        sutton_barto_reward: Earn 0.0 for every step and -1.0 for the one that ends the episode.
        render_mode: ``"rgb_array"``, ``"ansi"`` or ``None``.
    """

    metadata = render_metadata("rgb_array", "ansi", fps=50)

    def __init__(self, sutton_barto_reward: bool = False, render_mode: str | None = None) -> None:
        super().__init__()
        self._sutton_barto_reward = sutton_barto_reward
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(2)
        self.observation_space = self.observation_box()
        self.state: NDArray[np.float64] | None = None
        self.steps_beyond_terminated: int | None = None

    def step(self, action: int | np.integer[Any]) -> tuple[_Floats, float, bool, bool, Info]:
        """Pushes once and moves 0.02 s on.

        Raises:
            AssertionError: The action is neither 0 nor 1, or there was no reset yet.
        """
        if not self.action_space.contains(action):
            raise AssertionError(f"action {action!r} ({type(action)}) invalid: expected 0 or 1")
        if self.state is None:
            raise AssertionError("Call reset before using step method.")
        # Python floats are several times faster than numpy's scalars and give the same bits; the
        # cosine and the sine are numpy's, because those of the C library may differ.
        state = self.state.tolist()
        force = self.force_mag if action == 1 else -self.force_mag
        x, x_dot, theta, theta_dot = self.move(
            state, force, float(np.cos(state[2])), float(np.sin(state[2]))
        )
        self.state = np.array((x, x_dot, theta, theta_dot))
        terminated = abs(x) > self.x_threshold or abs(theta) > self.theta_threshold_radians
        reward = self._reward(terminated)
        return self.state.astype(np.float32), reward, terminated, False, {}

    def _reward(self, terminated: bool) -> float:
        if not terminated:
            return 0.0 if self._sutton_barto_reward else 1.0
        if self.steps_beyond_terminated is None:
            self.steps_beyond_terminated = 0
            return -1.0 if self._sutton_barto_reward else 1.0
        if self.steps_beyond_terminated == 0:
            logger.warn(
                "You are calling 'step()' even though this environment has already returned "
                "terminated = True. Call 'reset()' then; what further steps return is undefined."
            )
        self.steps_beyond_terminated += 1
        return -1.0 if self._sutton_barto_reward else 0.0

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[_Floats, Info]:
        """Starts near upright and at rest.

        Raises:
            ValueError: The bounds in ``options`` are not numbers, or in the wrong order.
        """
        super().reset(seed=seed)
        low, high = reset_bounds(options, -0.05, 0.05)
        self.state = self.np_random.uniform(low=low, high=high, size=(4,))
        self.steps_beyond_terminated = None
        return self.state.astype(np.float32), {}

    def render(self) -> NDArray[np.uint8] | str | None:
        """Draws the cart and the pole, as pixels of shape (400, 600, 3) or as text."""
        if is_unrendered(self) or self.state is None:
            return None
        x, _, theta, _ = self.state.tolist()
        return self.sketch(x, theta) if self.render_mode == "ansi" else self.draw(x, theta)


class CartPoleVectorEnv(
    CartPolePhysics, VectorEnv["NDArray[np.float32]", "NDArray[np.integer[Any]]", "NDArray[Any]"]
):
    """Many cart-poles, moved together as arrays (see `CartPoleEnv`).

    The step after the one that ended an episode resets it, whatever its action, and earns 0.0. The
    copies share one generator, so they differ from n single environments with their own seeds.

    Args:
        num_envs: The number of copies.
        max_episode_steps: The steps after which an episode is truncated.
        render_mode: ``"rgb_array"`` or ``None``.
        sutton_barto_reward: As in `CartPoleEnv`.
    """

    metadata = render_metadata("rgb_array", fps=50, autoreset_mode=AutoresetMode.NEXT_STEP)

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int = 500,
        render_mode: str | None = None,
        sutton_barto_reward: bool = False,
    ) -> None:
        super().__init__()
        self._sutton_barto_reward = sutton_barto_reward
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.render_mode = render_mode
        self.single_action_space = spaces.Discrete(2)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.single_observation_space = self.observation_box()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.low, self.high = -0.05, 0.05
        self.state: NDArray[np.float64] | None = None
        self._clear_counters()

    def _clear_counters(self) -> None:
        self.steps = np.zeros(self.num_envs, dtype=np.int32)
        self.prev_done = np.zeros(self.num_envs, dtype=np.bool_)

    def step(
        self, actions: NDArray[np.integer[Any]]
    ) -> tuple[_Floats, _Floats, _Bools, _Bools, Info]:
        """Pushes every cart once; ``actions`` is of shape (num_envs,).

        Raises:
            AssertionError: The actions are not in the space, or there was no reset yet.
        """
        if not self.action_space.contains(actions):
            raise AssertionError(f"actions {actions!r} ({type(actions)}) invalid")
        if self.state is None:
            raise AssertionError("Call reset before using step method.")
        force = np.sign(actions - 0.5) * self.force_mag
        theta = self.state[2]
        self.state = np.stack(self.move(self.state, force, np.cos(theta), np.sin(theta)))
        terminated = (np.abs(self.state[0]) > self.x_threshold) | (
            np.abs(self.state[2]) > self.theta_threshold_radians
        )
        self.steps += 1
        truncated = self.steps >= self.max_episode_steps
        reward = np.ones(self.num_envs, dtype=np.float32)
        if self._sutton_barto_reward:
            reward = -terminated.astype(np.float32)
        self._restart(reward, terminated, truncated)
        self.prev_done = terminated | truncated
        return self._observe(), reward, terminated, truncated, {}

    def _restart(self, reward: _Floats, terminated: _Bools, truncated: _Bools) -> None:
        """Restarts the cart-poles whose episodes ended on the previous step."""
        done = self.prev_done
        if self.state is None or not done.any():
            return
        shape = (4, int(done.sum()))
        self.state[:, done] = self.np_random.uniform(low=self.low, high=self.high, size=shape)
        self.steps[done] = 0
        reward[done] = 0.0
        terminated[done] = truncated[done] = False

    def _observe(self) -> _Floats:
        state = cast("NDArray[np.float64]", self.state)
        return np.transpose(state).astype(np.float32)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[_Floats, Info]:
        """Starts every cart-pole near upright; the options are `CartPoleEnv`'s."""
        super().reset(seed=seed)
        self.low, self.high = reset_bounds(options, -0.05, 0.05)
        self.state = self.np_random.uniform(low=self.low, high=self.high, size=(4, self.num_envs))
        self._clear_counters()
        return self._observe(), {}

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Draws every cart-pole, as a tuple of pictures of shape (400, 600, 3).

        Raises:
            ValueError: There was no reset yet.
        """
        if is_unrendered(self):
            return None
        if self.state is None:
            raise ValueError("There is nothing to draw before reset().")
        return tuple(self.draw(x, theta) for x, _, theta, _ in np.transpose(self.state).tolist())
