"""One step of one sub-environment, in each autoreset mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsFloat, TypeAlias

from envwire.envs.core import Env
from envwire.envs.vector.vector_env import AutoresetMode

#: The result of a step of an environment.
Step: TypeAlias = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]
#: (environment, action, whether the step before ended the episode) -> what a step returns.
Stepper: TypeAlias = Callable[[Env, Any, bool], Step]


def _step_or_reset(env: Env, action: Any, ended: bool) -> Step:
    if not ended:
        return env.step(action)
    observation, info = env.reset()
    return observation, 0.0, False, False, info


def _step_and_reset(env: Env, action: Any, ended: bool) -> Step:
    del ended
    observation, reward, terminated, truncated, info = env.step(action)
    if terminated or truncated:
        final = {"final_obs": observation, "final_info": info}
        observation, info = env.reset()
        info = {**final, **info}
    return observation, reward, terminated, truncated, info


def _step_only(env: Env, action: Any, ended: bool) -> Step:
    if ended:
        raise AssertionError(
            "An episode has ended: with autoreset disabled, reset the sub-environment first, with "
            "options={'reset_mask': terminations | truncations}"
        )
    return env.step(action)


STEPPERS: dict[AutoresetMode, Stepper] = {
    AutoresetMode.NEXT_STEP: _step_or_reset,
    AutoresetMode.SAME_STEP: _step_and_reset,
    AutoresetMode.DISABLED: _step_only,
}
