"""Rollouts with seeded actions, for comparing environments step by step."""

from __future__ import annotations

from typing import Any


def rollout(env: Any, steps: int, seed: int) -> list[Any]:
    """Returns all results of an environment: of the first reset, and of each step and reset after it."""
    env.action_space.seed(seed)
    seen: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    return seen
