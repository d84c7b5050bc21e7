"""Environments that change their spaces when they are reset, registered with both libraries on import."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import envwire.envs

CHANGING, NATIVE, RENEWING = "tests/Changing-v0", "tests/ChangingVector-v0", "tests/Renewing-v0"


def _changing(library: Any) -> type[Any]:
    spaces = library.spaces

    class Changing(library.Env):  # type: ignore[misc]
        """Has `n` actions and observations of length `n`, from each reset with that option on."""

        def __init__(self) -> None:
            self.give(3)

        def give(self, count: int) -> None:
            self.action_space = spaces.Discrete(count)
            self.observation_space = spaces.Box(0, count, (count,), np.float32)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)  # pyright: ignore[reportUnknownMemberType]
            if options:
                self.give(options["n"])
                if options.get("seeded"):
                    self.action_space.seed(7)
            return self._observation(0), {}

        def _observation(self, action: int) -> Any:
            assert self.action_space.contains(action)
            return np.full(self.observation_space.shape, action, np.float32)

        def step(self, action: int) -> Any:
            return self._observation(action), float(self.np_random.random()), False, False, {}

    return Changing


def _renewing(library: Any) -> type[Any]:
    class Renewing(library.Env):  # type: ignore[misc]
        """Assigns spaces at every reset: equal ones, and others from a given reset on."""

        resets = 0

        def __init__(self, change_at: int = 10**6) -> None:
            self.change_at = change_at
            self._renew(2)

        def _renew(self, count: int) -> None:
            self.action_space = library.spaces.Discrete(count)
            self.observation_space = library.spaces.Box(0, 1, (1,), np.float64)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)  # pyright: ignore[reportUnknownMemberType]
            self.resets += 1
            self._renew(2 + (self.resets >= self.change_at))
            return np.zeros(1), {}

        def step(self, _: int) -> Any:
            return np.zeros(1), 0.0, True, False, {}

    return Renewing


def _vector(library: Any) -> type[Any]:
    spaces = library.spaces

    class ChangingVector(library.vector.VectorEnv):  # type: ignore[misc]
        """A vector environment of its own form, with an option `n` as above."""

        metadata = {"autoreset_mode": library.vector.AutoresetMode.DISABLED}

        def __init__(self, num_envs: int = 2) -> None:
            self.num_envs = num_envs
            self._give(3)

        def _give(self, count: int) -> None:
            self.single_action_space = spaces.Discrete(count)
            self.action_space = spaces.MultiDiscrete([count] * self.num_envs)
            self.single_observation_space = spaces.Box(0, 1, (1,), np.float64)
            self.observation_space = spaces.Box(0, 1, (self.num_envs, 1), np.float64)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            if options:
                self._give(options["n"])
            return np.zeros((self.num_envs, 1)), {}

    return ChangingVector


for _library in (gymnasium, envwire.envs):
    for _name, _make in (
        ("Changing", _changing),
        ("Renewing", _renewing),
        ("ChangingVector", _vector),
    ):
        _made = _make(_library)
        _way = "vector_entry_point" if _name == "ChangingVector" else "entry_point"
        _library.register(id=f"tests/{_name}-v0", **{_way: _made})  # type: ignore[attr-defined]
