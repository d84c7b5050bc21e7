"""Passive checks of what an environment declares and returns; they make no calls of their own.

A violation of the API raises `AssertionError` (`TypeError` for a value that is not a space); a
questionable choice is a warning.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from envwire.envs import error, logger
from envwire.envs.core import Env, RenderFrame
from envwire.envs.logger import require, warn_unless
from envwire.envs.type_guards import is_array, is_dict, is_tuple
from envwire.envs.utils.space_checks import (
    check_action_space,
    check_obs,
    check_observation_space,
    check_space,
)

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
    if not _is_number(reward):
        warn_unless(
            False,
            "The reward returned by `step()` must be a float, int, np.integer or np.floating, "
            f"actual type: {type(reward)}",
        )
        return
    warn_unless(not np.isnan(reward), "The reward is a NaN value.")
    warn_unless(not np.isinf(reward), "The reward is an inf value.")


def _is_number(value: object) -> bool:
    """Whether a value is a Python or numpy number, not an array."""
    return isinstance(value, int | float | np.integer | np.floating) and value is not True


def env_render_passive_checker(env: Env) -> RenderFrame | list[RenderFrame] | None:
    """Checks the declared render modes, calls ``env.render()``, checks and returns its result.

    Raises:
        AssertionError: The environment is in a mode that it does not declare, or declares a
            ``render_fps`` of 0 or less.
    """
    modes = env.metadata.get("render_modes")
    if modes is None:
        warn_unless(False, "No render modes was declared: metadata has no 'render_modes'.")
    else:
        _check_render_modes(modes)
        if modes:
            _check_render_fps(env.metadata.get("render_fps"))
        require(
            env.render_mode is None or env.render_mode in modes,
            f"The environment is in render mode {env.render_mode!r} but declares {modes}",
        )
    result = env.render()
    if env.render_mode is not None:
        _check_render_return(env.render_mode, result)
    return result


def _check_render_modes(modes: Any) -> None:
    if not isinstance(modes, list | tuple):
        warn_unless(False, f"Expects the render_modes to be a sequence, got {type(modes)}")
        return
    fits = all(isinstance(mode, str) for mode in cast("list[Any]", modes))
    warn_unless(fits, f"Expects all render modes to be strings, got {modes}")


def _check_render_fps(fps: Any) -> None:
    if fps is None:
        warn_unless(False, "No render fps was declared: metadata has no 'render_fps'.")
    elif not _is_number(fps):
        warn_unless(False, f"Expects metadata['render_fps'] to be a number, got {type(fps)}")
    else:
        require(fps > 0, f"Expects metadata['render_fps'] to be greater than zero, got {fps}")


def _check_render_return(mode: str, result: Any) -> None:
    if mode.endswith("_list"):
        is_list = isinstance(result, list)
        warn_unless(is_list, f"Render mode `{mode}` should produce a list, got {type(result)}")
        for frame in cast("list[Any]", result) if is_list else ():
            _check_render_return(mode.removesuffix("_list"), frame)
    elif mode in _FRAME_CHECKS:
        kind, *details = _FRAME_CHECKS[mode]
        what = getattr(result, "dtype", None), getattr(result, "shape", None)
        for fits, expected in details if kind[0](result) else [kind]:
            warn_unless(fits(result), f"`{mode}` should {expected}, got {type(result)} {what}")


def _is_text(frame: Any) -> bool:
    return isinstance(frame, str)


#: The requirements on a frame of each mode: its type, and checks of frames of that type.
_FRAME_CHECKS: dict[str, tuple[tuple[Callable[[Any], bool], str], ...]] = {
    "human": ((lambda frame: frame is None, "return None"),),
    "rgb_array": (
        (is_array, "return a numpy array"),
        (lambda frame: frame.dtype == np.uint8, "return an array of dtype uint8"),
        (lambda frame: frame.ndim == 3, "return an array with three axes"),
        (
            lambda frame: frame.ndim != 3 or frame.shape[2] == 3,
            "return an array whose last axis has 3 elements",
        ),
    ),
    "depth_array": (
        (is_array, "return a numpy array"),
        (lambda frame: frame.ndim == 2, "return an array with two axes"),
    ),
    "ansi": ((_is_text, "return a str"),),
    "ascii": ((_is_text, "return a str"),),
}


def data_shares_objects(data_1: Any, data_2: Any) -> bool:
    """Whether two observations (or infos, actions) share a mutable object or array memory.

    Immutable values are often shared and never count; objects of unknown types are ignored.
    """
    if type(data_1) is not type(data_2):
        return False
    if is_array(data_1) and data_1.dtype != object:
        return bool(np.shares_memory(data_1, data_2))
    if isinstance(data_1, dict | np.ndarray) and data_1 is data_2:
        return True
    return any(data_shares_objects(a, b) for a, b in _paired_items(data_1, data_2))


def _paired_items(data_1: Any, data_2: Any) -> Iterator[tuple[Any, Any]]:
    if is_dict(data_1):
        yield from ((data_1[key], data_2[key]) for key in data_1.keys() & data_2.keys())
    elif is_array(data_1):
        yield from zip(data_1.ravel(), data_2.ravel(), strict=False)
    elif is_tuple(data_1):
        yield from zip(data_1, data_2, strict=False)


def env_data_reuse_passive_checker(
    previous_data: tuple[Any, dict[str, Any]],
    data: tuple[Any, dict[str, Any]],
    previous_source: str,
    source: str,
) -> None:
    """Warns if two calls returned the same objects: the second call overwrites the first result.

    Args:
        previous_data: The observation and info of a call.
        data: Those of the call after it.
        previous_source: The name of the first call.
        source: The name of the second.
    """
    for what, before, after in zip(("observation", "info"), previous_data, data, strict=True):
        warn_unless(
            not data_shares_objects(before, after),
            f"The {what}s returned by `{previous_source}` and the following `{source}` share "
            "an object, so that the later call overwrites what the earlier one returned. "
            f"Return a new {what} from every call.",
        )
