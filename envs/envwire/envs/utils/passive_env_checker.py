"""Passive checks of what an environment declares and returns; they make no calls of their own.

A violation of the API raises `AssertionError` (`TypeError` for a value that is not a space); a
questionable choice is a warning.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from envwire.envs import error, logger
from envwire.envs.type_guards import is_tuple
from envwire.envs.utils.data_reuse import data_shares_objects, env_data_reuse_passive_checker
from envwire.envs.utils.render_checks import env_render_passive_checker, is_number
from envwire.envs.utils.reporting import require, warn_unless
from envwire.envs.utils.space_checks import (
    check_action_space,
    check_obs,
    check_observation_space,
    check_space,
)

if TYPE_CHECKING:
    from envwire.envs.core import Env

__all__ = [
    "check_action_space",
    "check_obs",
    "check_observation_space",
    "check_space",
    "data_shares_objects",
    "env_data_reuse_passive_checker",
    "env_render_passive_checker",
    "env_reset_passive_checker",
    "env_spaces_passive_checker",
    "env_step_passive_checker",
]


#: How the space in each attribute of an environment is checked.
_SPACE_CHECKS = {
    "action_space": check_action_space,
    "observation_space": check_observation_space,
}


def env_spaces_passive_checker(env: Env) -> None:
    """Checks that ``env`` has both spaces, and the spaces themselves.

    Raises:
        AttributeError: A space is missing.
        TypeError: It is not a space.
        AssertionError: It is inconsistent.
    """
    for name, check in _SPACE_CHECKS.items():
        if not hasattr(env, name):
            raise AttributeError(f"{env} must set {name} in its constructor")
        check(getattr(env, name))


def env_reset_passive_checker(env: Env, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Calls ``env.reset(**kwargs)``, checks its signature and result, and returns the result."""
    parameters = inspect.signature(env.reset).parameters
    for name in ("seed", "options"):
        if name not in parameters and "kwargs" not in parameters:
            logger.deprecation(f"`Env.reset` must take the keyword argument `{name}`.")
    if "seed" in parameters:
        warn_unless(
            parameters["seed"].default is None,
            "The default seed argument in `Env.reset` should be `None`, or every episode is the "
            f"same. Actual default: {parameters['seed']}",
        )
    result: Any = env.reset(**kwargs)
    shape = "should be a tuple of the form `(obs, info)`"
    if not is_tuple(result):
        warn_unless(False, f"The result of `env.reset()` {shape}. Actual type: {type(result)}")
    elif len(result) != 2:
        warn_unless(False, f"The result of `env.reset()` {shape}, got {result}")
    else:
        check_obs(result[0], env.observation_space, "reset")
        _require_dict(result[1], "reset")
    return cast("tuple[Any, dict[str, Any]]", result)


def _require_dict(info: Any, method: str) -> None:
    require(isinstance(info, dict), f"The info of `{method}()` must be a dict, got {type(info)}")


def env_step_passive_checker(env: Env, action: Any) -> Any:
    """Calls ``env.step(action)``, checks its result and returns it.

    Raises:
        error.Error: The result has neither five elements nor the four of the old API.
        AssertionError: The result is not a tuple, or its info is not a dict.
    """
    # The action is not checked: some environments document that they take any value and clip it.
    result: Any = env.step(action)
    require(isinstance(result, tuple), f"`step()` must return a tuple, got {type(result)}")
    names = _STEP_RESULTS.get(len(result))
    if names is None:
        raise error.Error(
            f"`step()` must return (obs, reward, terminated, truncated, info), got {len(result)} "
            "elements"
        )
    if len(result) == 4:
        logger.deprecation(
            "The environment returns (obs, reward, done, info), the step API before 0.26. Convert "
            "it with utils.step_api_compatibility or return terminated and truncated."
        )
    obs, reward, *flags, info = result
    for name, flag in zip(names, flags, strict=True):
        fits = isinstance(flag, bool | np.bool_)
        warn_unless(fits, f"Expects `{name}` signal to be a boolean, actual type: {type(flag)}")
    check_obs(obs, env.observation_space, "step")
    _check_reward(reward)
    _require_dict(info, "step")
    return result


#: The flags in a step's result by the number of its elements.
_STEP_RESULTS = {4: ("done",), 5: ("terminated", "truncated")}


def _check_reward(reward: Any) -> None:
    if not is_number(reward):
        warn_unless(
            False,
            "The reward returned by `step()` must be a float, int, np.integer or np.floating, "
            f"actual type: {type(reward)}",
        )
        return
    warn_unless(not np.isnan(reward), "The reward is a NaN value.")
    warn_unless(not np.isinf(reward), "The reward is an inf value.")
