"""Gymnasium environments and wrappers, each with one behaviour that is difficult for a remote implementation."""

from __future__ import annotations

import enum
import math
import warnings
from decimal import Decimal
from typing import Any

import gymnasium
import numpy as np


class Reused(gymnasium.Env[Any, Any]):
    """Returns the same buffers again and again: big-endian, Fortran-ordered, read-only ones among them."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2, 3), np.float64)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.buffer = np.zeros((2, 3), order="F")
        self.swapped = np.zeros(3, ">i4")
        self.frozen = np.zeros(3)
        self.frozen.flags.writeable = False
        self.frame = np.zeros((4, 4, 3), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self.buffer, {"swapped": self.swapped, "frozen": self.frozen}

    def step(self, action: Any) -> Any:
        self.buffer += 1
        self.swapped += 1
        return (
            self.buffer,
            0.0,
            False,
            False,
            {"swapped": self.swapped, "frozen": self.frozen},
        )

    def render(self) -> Any:
        self.frame += 1
        return self.frame


class Color(enum.Enum):
    RED = 1


class Talkative(gymnasium.Env[Any, Any]):
    """Has values without a wire form in its infos, warns in every call, and continues after the end of an episode."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Discrete(100)
        self.action_space = gymnasium.spaces.Discrete(2)
        warnings.warn("made", UserWarning, stacklevel=2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        warnings.warn("reset", RuntimeWarning, stacklevel=2)
        self.steps = 0
        return 0, {"options": options}

    def step(self, action: Any) -> Any:
        warnings.warn("step", DeprecationWarning, stacklevel=2)
        self.steps += 1
        info = {
            "lambda": lambda: 1,
            "generator": (i for i in range(3)),
            "module": math,
            "enum": Color.RED,
            "rng": np.random.default_rng(0),
            "nested": [{"objects": np.array([Color.RED, None], dtype=object)}],
            "plain": (1, np.int64(2)),
        }
        return self.steps, 0.0, self.steps >= 2, False, info


class Tensor:
    """An array of another library: NumPy reads it, and its truth and value are those of its only element."""

    def __init__(self, value: Any) -> None:
        self._array = np.asarray(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._array

    def __bool__(self) -> bool:
        return bool(self._array)

    def __float__(self) -> float:
        return float(self._array)


class Tensors(gymnasium.Env[Any, Any]):
    """Returns arrays of another library, as environments in torch or JAX do; its episodes take five steps."""

    def __init__(self, *, shape: tuple[int, ...] = (), reward: str = "tensor") -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self._shape, self._reward = tuple(shape), reward

    def _tensor(self, value: Any) -> Tensor:
        return Tensor(np.full(self._shape, value))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return Tensor(np.zeros(3, np.float32)), {"tensor": Tensor(np.arange(2))}

    def step(self, action: Any) -> Any:
        self.steps += 1
        rewards = {
            "tensor": self._tensor(float(np.asarray(action).sum())),
            "decimal": Decimal("0.5"),
            "opaque": object(),
        }
        ended = self._tensor(self.steps == 5)
        observation = Tensor(np.full(3, self.steps, np.float32))
        return observation, rewards[self._reward], ended, self._tensor(False), {}


class Columns(gymnasium.Env[Any, Any]):
    """Returns infos shaped as those of a vector environment that has no masks, as ALE's do."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Discrete(2)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return 0, self.columns()

    def step(self, action: Any) -> Any:
        return 0, 0.0, False, False, self.columns()

    @staticmethod
    def columns() -> dict[str, Any]:
        return {
            "lives": np.array([3, 2], np.int32),
            "final_obs": np.arange(8, dtype=np.uint8).reshape(2, 2, 2),
            "final_info": {"lives": np.array([0, 0]), "_lives": np.array([True, False])},
        }


class Keywords(gymnasium.Env[Any, Any]):
    """Takes keyword arguments of any name, `self` included, and returns them at each reset."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(this, /, **kwargs: Any) -> None:
        this.kwargs = kwargs

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return 0, dict(self.kwargs)

    def step(self, action: Any) -> Any:
        return 0, 0.0, False, False, {}


class Particular(Keywords):
    """Raises exceptions with long texts, as parsers and comparisons of arrays do."""

    TEXT = 4000 * "ü"

    def step(self, action: Any) -> Any:
        raise ValueError(self.TEXT)


class Internals(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Needs the bare environment's inside, as `AtariPreprocessing` needs its emulator."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.frozen = env.unwrapped.frozen

    def step(self, action: Any) -> Any:
        self.env.unwrapped.buffer[...] = 7
        return self.env.step(action)


for kind in (Reused, Talkative, Tensors, Columns, Keywords, Particular):
    gymnasium.register(
        id=f"pitfalls/{kind.__name__}-v0", entry_point=kind, disable_env_checker=True
    )
