"""Environments whose results are the test: a counter, observations of any size, actions that come back, every space."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env
from envwire.envs.envs.drawing import render_metadata


class CounterEnv(Env["NDArray[np.int64]", "int | np.integer[Any]"]):
    """An observation is ``[steps of the episode, sum of its actions]``, an int64 array of shape (2,).

    The reward is the action as a float. The step with number `length` terminates the episode. ``info["draw"]`` of a
    reset is the first float64 that the episode draws from `np_random`.

    Args:
        render_mode: ``"rgb_array"``, a frame of the shape (8, 8, 3) filled with the steps; ``"ansi"``, the steps as
            a text; or ``None``.
        length: Steps of an episode.
    """

    metadata = render_metadata("rgb_array", "ansi", fps=10)

    def __init__(self, render_mode: str | None = None, length: int = 10) -> None:
        self.render_mode = render_mode
        self.length = length
        self.observation_space = spaces.Box(0, 2**62, (2,), np.int64)
        self.action_space = spaces.Discrete(2)
        self.steps = 0
        self.sum = 0

    def _observe(self) -> NDArray[np.int64]:
        return np.array([self.steps, self.sum], np.int64)

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[NDArray[np.int64], Info]:
        """Counts from 0 again, and draws once."""
        super().reset(seed=seed, options=options)
        self.steps, self.sum = 0, 0
        return self._observe(), {"draw": float(self.np_random.random())}

    def step(
        self, action: int | np.integer[Any]
    ) -> tuple[NDArray[np.int64], float, bool, bool, Info]:
        """Counts.

        Raises:
            ValueError: The action is neither 0 nor 1.
        """
        if action not in (0, 1):
            raise ValueError(f"action {action!r}: expected 0 or 1")
        self.add(int(action))
        return self._observe(), float(action), self.steps == self.length, False, {}

    def add(self, amount: int) -> int:
        """Counts a step, adds to the sum, and returns the sum."""
        self.steps += 1
        self.sum += amount
        return self.sum

    def render(self) -> Any:
        """Shows the steps."""
        if self.render_mode == "ansi":
            return str(self.steps)
        if self.render_mode == "rgb_array":
            return np.full((8, 8, 3), self.steps % 256, np.uint8)
        return None

    def get_state(self) -> tuple[int, int]:
        """Returns the state."""
        return self.steps, self.sum

    def set_state(self, state: tuple[int, int]) -> None:
        """Returns to a state."""
        self.steps, self.sum = state


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


class EchoEnv(Env[Any, Any]):
    """An observation is the action, of any type; an info is the options.

    A dictionary may say what a step returns: ``"echo"`` is the observation, ``"reward"``, ``"terminated"``,
    ``"truncated"`` and ``"info"`` are returned as they are, and ``"warn"`` is the text of a warning.
    """

    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None, value: Any = None) -> None:
        self.render_mode = render_mode
        self.value: Any = value

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Returns ``options["observation"]``, or else 0, and the options."""
        super().reset(seed=seed, options=options)
        info: dict[str, Any] = {} if options is None else options
        return info.get("observation", 0), info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Returns the action."""
        said = cast("dict[str, Any]", action) if isinstance(action, dict) else {}
        if "warn" in said:
            warnings.warn(said["warn"], UserWarning, stacklevel=1)
        return (
            said.get("echo", cast("Any", action)),
            said.get("reward", 0.0),
            said.get("terminated", False),
            said.get("truncated", False),
            said.get("info", {}),
        )

    def repeat(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns the arguments."""
        return {"args": args, "kwargs": kwargs}


def _every_space() -> spaces.Dict:
    shared = spaces.Discrete(3)
    return spaces.Dict(
        {
            "box": spaces.Box(np.array([-1, -np.inf], "f4"), np.array([1, np.inf], "f4")),
            "discrete": spaces.Discrete(5, start=-2),
            "multi_binary": spaces.MultiBinary([2, 3]),
            "multi_discrete": spaces.MultiDiscrete([3, 4], start=[0, 10]),
            "text": spaces.Text(4, min_length=1, charset="ab"),
            "tuple": spaces.Tuple((shared, shared)),
            "one_of": spaces.OneOf((spaces.Discrete(2), spaces.Box(0, 1, (1,), np.float64))),
            "sequence": spaces.Sequence(spaces.Discrete(4)),
            "stacked": spaces.Sequence(spaces.Box(0, 1, (2,), np.float32), stack=True),
            "graph": spaces.Graph(spaces.Box(0, 1, (2,), np.float32), spaces.Discrete(3)),
        }
    )


class EverySpaceEnv(Env[Any, Any]):
    """Observation and action space are a `Dict` with every kind of space; its tuple holds one space twice.

    An observation is a sample of the space, which each reset with a seed seeds; a step accepts any action.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = _every_space()
        self.action_space = _every_space()

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Returns a sample."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Returns a sample, and in the info whether the action was in the space."""
        contained = self.action_space.contains(action)
        return self.observation_space.sample(), 0.0, False, False, {"contained": contained}
