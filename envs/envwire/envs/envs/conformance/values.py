"""Environments whose values are the test: observations of any size, actions that come back, one space of each kind."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env


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
