"""Compares two environments step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.envs.utils.data_equivalence import data_equivalence

if TYPE_CHECKING:
    from collections.abc import Callable

    from envwire.envs.core import Env

_Info = dict[str, Any]


#: Ways to compare infos; b is the one that may have more.
_INFO_COMPARISONS: dict[str, Callable[[_Info, _Info], bool]] = {
    "equivalence": data_equivalence,
    "superset": lambda a, b: all(data_equivalence(value, b[key]) for key, value in a.items()),
    "keys-equivalence": lambda a, b: a.keys() == b.keys(),
    "keys-superset": lambda a, b: b.keys() >= a.keys(),
    "skip": lambda _a, _b: True,
}


def check_environments_match(
    env_a: Env[Any, Any],
    env_b: Env[Any, Any],
    num_steps: int,
    seed: int = 0,
    skip_obs: bool = False,
    skip_rew: bool = False,
    skip_terminal: bool = False,
    skip_truncated: bool = False,
    skip_render: bool = False,
    info_comparison: str = "equivalence",
) -> None:
    """Steps two environments with the same seeds and random actions and compares what they return.

    Args:
        env_a: One environment; its action space is seeded and sampled from.
        env_b: The other.
        num_steps: How many steps; every episode begins with the same seed.
        seed: For the environments and the actions.
        skip_obs: Whether not to compare observations and their spaces.
        skip_rew: Whether not to compare rewards.
        skip_terminal: Whether not to compare terminations.
        skip_truncated: Whether not to compare truncations.
        skip_render: Whether not to compare frames; they never are if either has no render mode or
            ``"human"``.
        info_comparison: ``"equivalence"``; ``"superset"`` if b may have more; either with
            ``"keys-"`` before it to compare keys alone; ``"skip"``.

    Raises:
        AssertionError: They differ, or there is no such comparison.
    """
    skipped = {
        "observation": skip_obs,
        "reward": skip_rew,
        "termination": skip_terminal,
        "truncation": skip_truncated,
        "render": skip_render or _shows_nothing(env_a) or _shows_nothing(env_b),
    }
    if info_comparison not in _INFO_COMPARISONS:
        raise AssertionError(
            f"info_comparison must be one of {list(_INFO_COMPARISONS)}, got {info_comparison!r}"
        )
    env_a.action_space.seed(seed)
    match = _Match((env_a, env_b), seed, skipped, info_comparison)
    match.compare_spaces()
    match.reset("resetting")
    for step in range(num_steps):
        match.step(step)


def _shows_nothing(env: Env[Any, Any]) -> bool:
    return env.unwrapped.render_mode in (None, "human")


@dataclass
class _Match:
    """Two environments in lock step."""

    envs: tuple[Env[Any, Any], Env[Any, Any]]
    seed: int
    skipped: dict[str, bool]
    info_comparison: str

    def compare_spaces(self) -> None:
        a, b = self.envs
        self._require("action space", a.action_space == b.action_space, a, b, "")
        if not self.skipped["observation"]:
            same = a.observation_space == b.observation_space
            self._require("observation space", same, a, b, "")

    def reset(self, when: str) -> None:
        (obs_a, info_a), (obs_b, info_b) = (env.reset(seed=self.seed) for env in self.envs)
        self._compare("observation", obs_a, obs_b, when)
        self._compare_infos_and_frames(info_a, info_b, when)

    def step(self, number: int) -> None:
        when = f"in step {number}"
        action = self.envs[0].action_space.sample()
        (*values_a, info_a), (*values_b, info_b) = (env.step(action) for env in self.envs)
        for what, a, b in zip(self.skipped, values_a, values_b, strict=False):
            self._compare(what, a, b, when)
        self._compare_infos_and_frames(info_a, info_b, when)
        if any((*values_a[2:], *values_b[2:])):
            self.reset(f"resetting after step {number}")

    def _compare(self, what: str, a: Any, b: Any, when: str) -> None:
        if not self.skipped[what]:
            self._require(what, data_equivalence(a, b), a, b, when)

    def _compare_infos_and_frames(self, a: _Info, b: _Info, when: str) -> None:
        same = _INFO_COMPARISONS[self.info_comparison](a, b)
        self._require(f"info ({self.info_comparison})", same, a, b, when)
        if not self.skipped["render"]:
            frame_a, frame_b = (np.asarray(env.render()) for env in self.envs)
            self._require("render", np.all(frame_a == frame_b), "a", "b", when)

    def _require(self, what: str, same: Any, a: Any, b: Any, when: str) -> None:
        if not same:
            raise AssertionError(f"The {what} does not match {when}: {a} and {b}")
