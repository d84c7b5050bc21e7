"""Environments of older times, and the two small classes that convert them so that they can be hosted.

The names follow `gym`: before 0.26 a step returned four values, and `reset` the observation alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import envwire.envs as gym
from envwire.envs.utils.step_api_compatibility import convert_to_terminated_truncated_step_api


class FourTuple:
    """An environment as of gym 0.21: it walks right until it falls off, or time is up."""

    metadata = {"render.modes": ["ansi"]}

    def __init__(self, length: int = 5, patience: int = 4) -> None:
        self.length, self.patience = length, patience
        self.rng = np.random.RandomState()

    def seed(self, seed: int | None = None) -> list[int | None]:
        self.rng.seed(seed)
        return [seed]

    def reset(self) -> Any:
        self.place, self.time = self.rng.uniform(0, 1), 0
        return np.array([self.place])

    def step(self, action: int) -> Any:
        self.place, self.time = self.place + action, self.time + 1
        fell, late = self.place > self.length, self.time >= self.patience
        info = {"TimeLimit.truncated": not fell} if late else {}
        return np.array([self.place]), 1.0, fell or late, info

    def render(self, mode: str = "human") -> str:
        return f"{mode}: {self.place:.2f}"

    def close(self) -> None:
        pass


class Converted(gym.Env[Any, Any]):
    """A four-tuple environment in the API of today.

    The spaces are written here: those of the old library are foreign classes, which no client could build.
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(self, old: Any = FourTuple, render_mode: str | None = None, **kwargs: Any) -> None:
        self.old, self.render_mode = old(**kwargs), render_mode
        self.observation_space = gym.spaces.Box(0, np.inf, (1,), np.float64)
        self.action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self.old.seed(seed)
        return self.old.reset(), {}

    def step(self, action: Any) -> Any:
        return convert_to_terminated_truncated_step_api(self.old.step(action))

    def render(self) -> Any:
        return self.old.render(mode=self.render_mode)

    def close(self) -> None:
        self.old.close()


class Unconverted(Converted):
    """What happens without the conversion."""

    def step(self, action: Any) -> Any:
        return self.old.step(action)


class FiveTuple:
    """An environment as of gym 0.26: the methods of today, in a class of a library that is not installed."""

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.rng = np.random.default_rng(seed)
        return self.rng.random(2), {"options": options}

    def step(self, action: Any) -> Any:
        return self.rng.random(2), float(action), False, False, {}

    def close(self) -> None:
        pass


class Adopted(gym.Env[Any, Any]):
    """Such an environment as one of ours: only its class and its spaces are foreign."""

    def __init__(self, old: Any = FiveTuple, **kwargs: Any) -> None:
        self.old = old(**kwargs)
        self.observation_space = gym.spaces.Box(0, 1, (2,), np.float64)
        self.action_space = gym.spaces.Discrete(3)
        self.reset, self.step, self.close = self.old.reset, self.old.step, self.old.close  # type: ignore[method-assign]


for name, kind in (("Converted", Converted), ("Unconverted", Unconverted), ("Adopted", Adopted)):
    gym.register(id=f"legacy/{name}-v0", entry_point=kind)
