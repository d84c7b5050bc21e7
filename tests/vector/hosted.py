"""Environments that vector tests host, registered with both libraries on import."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import envwire.envs

WAIT = 1


def _info(draw: int, steps: int) -> dict[Any, Any]:
    """Returns an info whose keys and types change from step to step."""
    candidates: dict[Any, Any] = {
        "number": (1, 0.5, np.float32(0.25), True)[draw % 4],
        "whole": steps,
        "array": np.full((2, 3), draw, np.int16),
        "text": f"draw {draw}",
        "flag": np.bool_(draw % 2),
        "nested": {"depth": draw / 3, "deeper": {"steps": steps}} if draw % 3 else {},
        "maybe": None if draw % 2 else ("x", draw),
        7: draw,
        "rare": np.int64(draw),
    }
    return {
        key: value for place, (key, value) in enumerate(candidates.items()) if draw >> place & 1
    }


def _moody(library: Any) -> type[Any]:
    spaces = library.spaces

    class Moody(library.Env):  # type: ignore[misc]
        """Ends at random, and has other infos at every step."""

        metadata = {"render_modes": ["ansi"], "render_fps": 4}

        def __init__(self, render_mode: str | None = None) -> None:
            self.render_mode = render_mode
            self.level = 1
            box = spaces.Box(-9, 9, (2,), np.float64)
            self.observation_space = spaces.Dict(
                {"box": box, "pair": spaces.Tuple([spaces.Discrete(5), spaces.Text(9)])}
            )
            self.action_space = spaces.Tuple(
                [spaces.Discrete(3), spaces.Dict({"push": spaces.Box(-1, 1, (1,), np.float32)})]
            )

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)  # pyright: ignore[reportUnknownMemberType]
            self.steps, self.sum = 0, 0.0
            info = self._look()
            return self._observation(), {**info, "options": str(options)} if options else info

        def _look(self) -> dict[Any, Any]:
            return _info(int(self.np_random.integers(2**9)), self.steps)

        def _observation(self) -> Any:
            pair = (np.int64(self.steps % 5), f"{self.steps}")
            return {"box": np.array([self.sum, self.steps]), "pair": pair}

        def step(self, action: Any) -> Any:
            self.steps += 1
            self.sum = float(action[0] + action[1]["push"][0])
            ended = self.np_random.random() < 0.2
            return self._observation(), self.sum, bool(ended), self.steps == 9, self._look()

        def render(self) -> str:
            return f"steps: {self.steps}"

        def add(self, left: int, right: int = 1) -> int:
            return left + right + self.level

    return Moody


def _levelled(library: Any) -> type[Any]:
    spaces = library.spaces

    class Levelled(library.Env):  # type: ignore[misc]
        """Observes draws times its level; its episodes have a length of its own."""

        def __init__(
            self, level: float = 1, length: int = 4, high: float = 3.0, size: int = 2
        ) -> None:
            self.level, self.length = level, length
            self.observation_space = spaces.Box(-high, high, (size,), np.float64)
            self.action_space = spaces.Discrete(3)

        def _look(self) -> Any:
            return self.np_random.random(self.observation_space.shape) * self.level

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)  # pyright: ignore[reportUnknownMemberType]
            self.steps = 0
            return self._look(), {"level": self.level}

        def step(self, action: int) -> Any:
            self.steps += 1
            info = {"left": self.length - self.steps} if self.steps % 2 else {}
            return self._look(), float(action * self.level), self.steps >= self.length, False, info

    return Levelled


def _gated(library: Any) -> type[Any]:
    spaces = library.spaces

    class Gated(library.Env):  # type: ignore[misc]
        """With action 1, waits for a file to appear; its info has the process id."""

        def __init__(self, gate: str = "") -> None:
            self.gate = Path(gate)
            self.observation_space = spaces.Box(0, 99, (1,), np.float32)
            self.action_space = spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)  # pyright: ignore[reportUnknownMemberType]
            self.steps = 0
            return np.zeros(1, np.float32), {"pid": os.getpid()}

        def step(self, action: Any) -> Any:
            while action == WAIT and not self.gate.exists():
                time.sleep(0.001)
            self.steps += 1
            return np.full(1, self.steps, np.float32), 1.0, False, False, {"pid": os.getpid()}

    return Gated


def _counted(library: Any) -> type[Any]:
    spaces = library.spaces

    class Counted(library.Env):  # type: ignore[misc]
        """Counts steps over all its episodes, of seven steps each, and has no generator."""

        def __init__(self) -> None:
            self.observation_space = spaces.Box(0, np.inf, (1,), np.float32)
            self.action_space = spaces.Discrete(2)
            self.steps = 0

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return np.full(1, self.steps, np.float32), {}

        def step(self, action: Any) -> Any:
            self.steps += 1
            ended = self.steps % 7 == 0
            return np.full(1, self.steps, np.float32), 1.0, False, ended, {}

    return Counted


def _large(library: Any) -> type[Any]:
    spaces = library.spaces

    class Large(library.Env):  # type: ignore[misc]
        """Shows many pixels; an episode has five steps."""

        def __init__(self) -> None:
            self.observation_space = spaces.Box(0, 255, (70, 70, 3), np.uint8)
            self.action_space = spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)  # pyright: ignore[reportUnknownMemberType]
            self.steps = 0
            return self._pixels(), {}

        def _pixels(self) -> Any:
            return self.np_random.integers(0, 256, (70, 70, 3), np.uint8)

        def step(self, action: Any) -> Any:
            self.steps += 1
            return self._pixels(), 1.0, False, self.steps == 5, {}

    return Large


for _library in (envwire.envs, gymnasium):
    for _class in (
        _moody(_library),
        _gated(_library),
        _counted(_library),
        _large(_library),
        _levelled(_library),
    ):
        _library.register(
            id=f"vectors/{_class.__name__}-v0", entry_point=_class, disable_env_checker=True
        )
