"""Compares two environments step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from envwire.envs.core import Env
from envwire.envs.utils.env_checker import data_equivalence

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
    if info_comparison not in _INFO_COMPARISONS:
        raise AssertionError(
            f"info_comparison must be one of {list(_INFO_COMPARISONS)}, got {info_comparison!r}"
        )
    skipped = {
        "observation": skip_obs,
        "reward": skip_rew,
        "termination": skip_terminal,
        "truncation": skip_truncated,
    }
    envs = (env_a, env_b)
    skip_render = skip_render or any(env.unwrapped.render_mode in (None, "human") for env in envs)
    env_a.action_space.seed(seed)
    _require("action space", env_a.action_space == env_b.action_space, env_a, env_b, "")
    if not skip_obs:
        same = env_a.observation_space == env_b.observation_space
        _require("observation space", same, env_a, env_b, "")
    for when, ((*values_a, info_a), (*values_b, info_b)) in _results(envs, seed, num_steps):
        for what, a, b in zip(skipped, values_a, values_b, strict=False):
            if not skipped[what]:
                _require(what, data_equivalence(a, b), a, b, when)
        same = _INFO_COMPARISONS[info_comparison](info_a, info_b)
        _require(f"info ({info_comparison})", same, info_a, info_b, when)
        if not skip_render:
            frame_a, frame_b = (np.asarray(env.render()) for env in envs)
            _require("render", np.all(frame_a == frame_b), "a", "b", when)


def _results(
    envs: tuple[Env[Any, Any], Env[Any, Any]], seed: int, num_steps: int
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Steps both environments, and resets them first and after each end.

    Yields:
        When it was, and what each of them returned.
    """
    yield "resetting", [env.reset(seed=seed) for env in envs]
    for step in range(num_steps):
        action = envs[0].action_space.sample()
        results = [env.step(action) for env in envs]
        yield f"in step {step}", results
        if any(flag for result in results for flag in result[2:-1]):
            yield f"resetting after step {step}", [env.reset(seed=seed) for env in envs]


def _require(what: str, same: Any, a: Any, b: Any, when: str) -> None:
    if not same:
        raise AssertionError(f"The {what} does not match {when}: {a} and {b}")
