"""Environments that tests host, registered on import: one misbehaves on demand, one has awkward values."""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import time
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np

import envwire.envs as gym


class Fault(enum.IntEnum):
    """The fault of a step of `Faulty`."""

    NONE = 0
    RAISE = 1
    ABORT = 2
    EXIT = 3
    HANG = 4
    PRINT_FOREVER = 5
    WARN = 6
    PRINT_AND_ABORT = 7
    CUSTOM_ERROR = 8
    BAD_INFO = 9
    BAD_OBSERVATION = 10
    SLEEP = 11


class SimulatorError(Exception):
    """An exception that no client knows."""


class Faulty(gym.Env[np.ndarray, int]):
    """Counts its steps; each action is a fault to commit first.

    `hang_on_close` makes it hang when closed; `raise_on_make` raises in the constructor; `anonymous` keeps the number
    of its process to itself, so that another process gives the same answers.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 30}

    def __init__(
        self,
        render_mode: str | None = None,
        raise_on_make: bool = False,
        hang_on_close: bool = False,
        anonymous: bool = False,
    ) -> None:
        if raise_on_make:
            raise RuntimeError("no simulator here")
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(0, np.inf, (1,), np.float64)
        self.action_space = gym.spaces.Discrete(len(Fault))
        self.steps = 0
        self._hang_on_close = hang_on_close
        self._anonymous = anonymous

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        pid = 0 if self._anonymous else os.getpid()
        return np.zeros(1), {"pid": pid, "options": options}

    def step(self, action: int) -> Any:
        _commit(Fault(action))
        self.steps += 1
        observation = np.array([float(self.steps)])
        if action == Fault.BAD_OBSERVATION:
            return object(), 0.0, False, False, {}
        info: Any = ["not a dict"] if action == Fault.BAD_INFO else {"steps": self.steps}
        return observation, 0.0, False, False, info

    @property
    def pid(self) -> int:
        """The process that holds it, which a replay does not read again."""
        return os.getpid()

    def render(self) -> str:
        return f"steps: {self.steps}"

    def add(self, left: int, right: int = 1) -> int:
        """A method to call from afar."""
        return left + right

    def work(self, seconds: float) -> None:
        """Takes processor time."""
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass

    def start_child(self) -> int:
        """Starts a process, as a simulator would, and never ends it."""
        self._child = subprocess.Popen(["sleep", "3600"])
        return self._child.pid

    def close(self) -> None:
        if self._hang_on_close:
            time.sleep(3600)


def _commit(fault: Fault) -> None:
    if fault is Fault.RAISE:
        raise ValueError("the wheel fell off", 42)
    if fault is Fault.CUSTOM_ERROR:
        raise SimulatorError("out of coffee")
    if fault is Fault.ABORT:
        os.abort()
    if fault is Fault.EXIT:
        sys.exit(3)
    if fault is Fault.HANG:
        time.sleep(3600)
    if fault is Fault.WARN:
        warnings.warn("the wheel is loose", UserWarning, stacklevel=2)
    if fault is Fault.SLEEP:
        time.sleep(0.5)
    if fault is Fault.PRINT_AND_ABORT:
        print("last words", file=sys.stderr, flush=True)
        os.abort()
    while fault is Fault.PRINT_FOREVER:
        os.write(1, b"spam " * 1000)


class Awkward(gym.Env[Any, Any]):
    """Answers each step with the action it got, in every place where a value can be."""

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 7, "nested": {"a": (1, 2)}}
    reward_range = (-1.5, 2)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        box = gym.spaces.Box(-1, 1, (2, 3), np.float16)
        self.observation_space = gym.spaces.Dict(
            {"b": box, "a": gym.spaces.Tuple([box, gym.spaces.Discrete(3)])}
        )
        self.action_space = gym.spaces.Dict({"x": box}, seed=3)
        self._buffer = np.zeros((2, 3), np.float16)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self._observation(), {
            "seed": seed,
            "options": options,
            "draw": self.np_random.random(),
        }

    def _observation(self) -> Any:
        self._buffer += 0.25  # the same array each time: the wire must not share it
        return OrderedDict(b=self._buffer, a=(self._buffer[::-1].T.T, np.int8(2)))

    def step(self, action: Any) -> Any:
        info = {
            "action": action,
            7: {"deep": [1, (2, np.float32(3)), {"k": None}]},
            "big": 2**200,
            "negative zero": -0.0,
            "nan": float("nan"),
            "zero_d": np.array(5, np.uint16),
            "empty": np.zeros((0, 3), np.int16),
            "flags": (True, np.True_),
            "text": "ä\U0001f600",
            "bytes": b"\x00\xff",
            "complex": 1 + 2j,
            "function": _commit,
            "draw": self.np_random.random(),
        }
        return self._observation(), np.float32(0.1), np.bool_(False), False, info

    def draw(self) -> float:
        return float(self.np_random.random())

    def render(self) -> Any:
        return np.full((4, 5, 3), 9, np.uint8) if self.render_mode == "rgb_array" else "frame"


class Doubling(gym.ActionWrapper):  # type: ignore[type-arg]
    """A wrapper that an operator may list."""

    def __init__(self, env: Any, factor: int = 2) -> None:
        super().__init__(env)
        self.factor = factor

    def action(self, action: Any) -> Any:
        return action


class Wavering(gym.Env[np.ndarray, int]):
    """Goes its own way from a given step on, however it was seeded."""

    def __init__(self, certain: int = 100) -> None:
        self.observation_space = gym.spaces.Box(0, 1, (2,), np.float64)
        self.action_space = gym.spaces.Discrete(2)
        self._certain = certain

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._steps = 0
        return self.np_random.random(2), {"options": options}

    def step(self, action: int) -> Any:
        self._steps += 1
        chance = self.np_random if self._steps <= self._certain else np.random.default_rng()
        info = {"episode": {"t": time.perf_counter()}, "where": object()}
        return chance.random(2), float(action), False, False, info

    def draw(self) -> float:
        """Draws a number between two steps."""
        return self.np_random.random()


class Drawing(gym.Env[int, int]):
    """Draws from its generator in every call, and then raises while it is broken."""

    metadata = {"render_modes": ["ansi"], "render_fps": 7}

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Discrete(2)
        self.action_space = gym.spaces.Discrete(2)
        self._broken = False

    @property
    def broken(self) -> bool:
        return self._broken

    @broken.setter
    def broken(self, value: bool) -> None:
        self.np_random.random()
        self._broken = value

    def draw(self) -> float:
        drawn = self.np_random.random()
        if self._broken:
            raise LookupError("broken")
        return drawn

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return 0, {"draw": self.draw()}

    def step(self, action: int) -> Any:
        return 0, self.draw(), False, False, {}

    def render(self) -> str:
        return str(self.draw())


class Saving(gym.Env[np.ndarray, int]):
    """Offers its state, a sum of actions and draws."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = gym.spaces.Discrete(10)
        self._sum = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._sum = np.zeros(2)
        return self._sum.copy(), {}

    def step(self, action: int) -> Any:
        self._sum += (action, self.np_random.random())
        return self._sum.copy(), 0.0, False, False, {}

    def save_state(self) -> np.ndarray:
        """Returns a state that no step changes."""
        return self._sum.copy()

    def restore_state(self, state: np.ndarray) -> None:
        """Goes back to a state."""
        self._sum = state.copy()


gym.register(id="tests/Wavering-v0", entry_point="tests.hosted_envs:Wavering")
gym.register(id="tests/Drawing-v0", entry_point="tests.hosted_envs:Drawing")
gym.register(id="tests/Saving-v0", entry_point="tests.hosted_envs:Saving", max_episode_steps=20)
gym.register(id="tests/Faulty-v0", entry_point="tests.hosted_envs:Faulty", disable_env_checker=True)
gym.register(
    id="tests/Awkward-v0", entry_point="tests.hosted_envs:Awkward", disable_env_checker=True
)


def always_zero(_: Any) -> int:
    """A scripted agent."""
    return 0


def always_one(_: Any) -> int:
    """A scripted agent that makes `Faulty` raise."""
    return 1
