"""Checks of what an environment declares and returns that do not disturb it.

A fault that breaks the API raises `AssertionError` (or `TypeError` for a thing that is no space at
all); a doubtful choice is a warning.
"""

from __future__ import annotations

import inspect
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from envwire.envs import error, logger, spaces
from envwire.envs.spaces.narrow import is_array, is_dict, is_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from envwire.envs.core import Env, RenderFrame

__all__ = [
    "check_action_space",
    "check_obs",
    "check_observation_space",
    "check_space",
    "data_shares_objects",
    "env_data_reuse_passive_checker",
    "env_render_passive_checker",
    "env_reset_passive_checker",
    "env_step_passive_checker",
]


def _require(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _warn_unless(condition: Any, message: str) -> None:
    if not condition:
        logger.warn("%s", message, stacklevel=3)


def check_space(
    space: Any, space_type: str, check_box_space_fn: Callable[[spaces.Box, str], None]
) -> None:
    """Checks one declared space and everything in it.

    Args:
        space: The declared space.
        space_type: ``"observation"`` or ``"action"``; becomes part of the path in messages.
        check_box_space_fn: Checks each Box, given its path.

    Raises:
        TypeError: This is not a space.
        AssertionError: The space holds nothing, or contradicts itself.
    """
    for path, leaf in _leaves(space, f"{space_type}_space"):
        if not isinstance(leaf, spaces.Space):
            raise TypeError(f"{path} must be a Space of envwire.envs.spaces, got {type(leaf)}")
        if isinstance(leaf, spaces.Box):
            check_box_space_fn(leaf, path)
        else:
            _check_leaf(leaf, path)


def _leaves(space: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(space, spaces.Tuple | spaces.Dict):
        yield path, space
        return
    pairs = _children(space)
    _require(pairs, f"{path} is an empty {type(space).__name__}: it has nothing to choose")
    for key, child in pairs:
        yield from _leaves(child, f"{path}[{key!r}]")


def _children(space: spaces.Tuple | spaces.Dict) -> list[tuple[Any, Any]]:
    if isinstance(space, spaces.Dict):
        return list(space.spaces.items())
    return list(enumerate(space.spaces))


@singledispatch
def _check_leaf(space: Any, path: str) -> None:
    """Requires of a leaf space that it is consistent and not empty; others check themselves."""


@_check_leaf.register
def _(space: spaces.Discrete, path: str) -> None:
    _require(space.n > 0, f"{path}: a Discrete space needs n > 0, got {space.n}")
    _require(space.shape == (), f"{path}: a Discrete space has shape (), got {space.shape}")


@_check_leaf.register
def _(space: spaces.MultiDiscrete, path: str) -> None:
    shapes = f"shape {space.shape}, shape of nvec {space.nvec.shape}"
    _require(space.shape == space.nvec.shape, f"{path}: MultiDiscrete contradicts itself: {shapes}")
    _require(np.all(space.nvec > 0), f"{path}: every count of nvec must be > 0, got {space.nvec}")


@_check_leaf.register
def _(space: spaces.MultiBinary, path: str) -> None:
    _require(np.all(np.asarray(space.shape) > 0), f"{path}: no axis may be empty: {space.shape}")


def _check_box(space: spaces.Box, path: str) -> None:
    for name in ("low", "high"):
        shape = getattr(space, name).shape
        _require(shape == space.shape, f"{path}: Box shape {space.shape}, but {name} has {shape}")
    _warn_unless(
        not np.any(space.low == space.high),
        f"{path}: A Box space's maximum and minimum values are equal in places.",
    )


def _check_observation_box(space: spaces.Box, path: str) -> None:
    _check_box(space, path)
    _warn_unless(
        not np.any(space.high < space.low),
        f"{path}: A Box space's low value is greater than its high value in places.",
    )


check_observation_space = partial(
    check_space, space_type="observation", check_box_space_fn=_check_observation_box
)
check_action_space = partial(check_space, space_type="action", check_box_space_fn=_check_box)


def check_obs(obs: Any, observation_space: spaces.Space[Any], method_name: str) -> None:
    """Checks that an observation is what its space says, in type and in value.

    Raises:
        AssertionError: A Dict or Tuple observation has other keys or another length.
    """
    _check_type(observation_space, obs, f"The obs returned by the `{method_name}()` method")


def _check_type(space: spaces.Space[Any], obs: Any, pre: str) -> None:
    _check_observation(space, obs, pre)
    try:
        _warn_unless(obs in space, f"{pre} is not within the observation space.")
    except Exception as exc:  # a foreign space may raise anything
        _warn_unless(False, f"{pre} is not within the observation space with exception: {exc}")


@singledispatch
def _check_observation(space: Any, obs: Any, pre: str) -> None:
    """Warns when the observation's type is not the one that the space's samples have."""


@_check_observation.register
def _(space: spaces.Discrete, obs: Any, pre: str) -> None:
    fits = isinstance(obs, int | np.int64 | space.dtype.type)
    _warn_unless(fits, f"{pre} should be an int or np.int64, actual type: {type(obs)}")


@_check_observation.register
def _(space: spaces.Box, obs: Any, pre: str) -> None:
    if space.shape == ():
        return
    if not is_array(obs):
        _warn_unless(False, f"{pre} was expecting a numpy array, actual type: {type(obs)}")
        return
    _warn_unless(
        obs.dtype == space.dtype,
        f"{pre} was expecting numpy array dtype to be {space.dtype}, actual type: {obs.dtype}",
    )


@_check_observation.register(spaces.MultiBinary)
@_check_observation.register(spaces.MultiDiscrete)
def _(space: Any, obs: Any, pre: str) -> None:  # noqa: ARG001 - the dispatcher's signature
    fits = is_array(obs)
    _warn_unless(fits, f"{pre} was expecting a numpy array, actual type: {type(obs)}")


@_check_observation.register
def _(space: spaces.Tuple, obs: Any, pre: str) -> None:
    _warn_unless(isinstance(obs, tuple), f"{pre} was expecting a tuple, actual type: {type(obs)}")
    sizes = f"obs length: {len(obs)}, space length: {len(space.spaces)}"
    _require(len(obs) == len(space.spaces), f"{pre} has another length than its space, {sizes}")
    for index, child in enumerate(space.spaces):
        _check_type(child, obs[index], f"{pre}, at [{index}],")


@_check_observation.register
def _(space: spaces.Dict, obs: Any, pre: str) -> None:
    _require(isinstance(obs, dict), f"{pre} must be a dict, actual type: {type(obs)}")
    keys = f"obs keys: {list(obs)}, space keys: {list(space.spaces)}"
    _require(obs.keys() == space.spaces.keys(), f"{pre} has other keys than its space, {keys}")
    for key, child in space.spaces.items():
        _check_type(child, obs[key], f"{pre}, at [{key!r}],")


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
    """Warns if two calls returned the same objects: whoever kept the first sees it overwritten.

    Args:
        previous_data: The observation and info of a call.
        data: Those of the call after it.
        previous_source: The name of the first call.
        source: The name of the second.
    """
    for what, before, after in zip(("observation", "info"), previous_data, data, strict=True):
        _warn_unless(
            not data_shares_objects(before, after),
            f"The {what}s returned by `{previous_source}` and the following `{source}` share "
            "an object, so that the later call overwrites what the earlier one returned. "
            f"Return a new {what} from every call.",
        )


def env_reset_passive_checker(env: Env, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Calls ``env.reset(**kwargs)``, checks its signature and result, and returns the result."""
    parameters = inspect.signature(env.reset).parameters
    for name in ("seed", "options"):
        if name not in parameters and "kwargs" not in parameters:
            logger.deprecation(f"`Env.reset` must take the keyword argument `{name}`.")
    if "seed" in parameters:
        _warn_unless(
            parameters["seed"].default is None,
            "The default seed argument in `Env.reset` should be `None`, or every episode is the "
            f"same. Actual default: {parameters['seed']}",
        )
    result: Any = env.reset(**kwargs)
    shape = "should be a tuple of the form `(obs, info)`"
    if not is_tuple(result):
        _warn_unless(False, f"The result of `env.reset()` {shape}. Actual type: {type(result)}")
    elif len(result) != 2:
        _warn_unless(False, f"The result of `env.reset()` {shape}, got {result}")
    else:
        check_obs(result[0], env.observation_space, "reset")
        _require_info(result[1], "reset")
    return cast("tuple[Any, dict[str, Any]]", result)


def _require_info(info: Any, method: str) -> None:
    _require(isinstance(info, dict), f"The info of `{method}()` must be a dict, got {type(info)}")


def env_step_passive_checker(env: Env, action: Any) -> Any:
    """Calls ``env.step(action)``, checks its result and returns it.

    Raises:
        error.Error: The result has neither five elements nor the four of the old API.
        AssertionError: The result is not a tuple, or its info is not a dict.
    """
    # The action is not checked: some environments document that they take any value and clip it.
    result: Any = env.step(action)
    _require(isinstance(result, tuple), f"`step()` must return a tuple, got {type(result)}")
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
        _warn_unless(fits, f"Expects `{name}` signal to be a boolean, actual type: {type(flag)}")
    check_obs(obs, env.observation_space, "step")
    _check_reward(reward)
    _require_info(info, "step")
    return result


#: The flags in a step's result by the number of its elements.
_STEP_RESULTS = {4: ("done",), 5: ("terminated", "truncated")}


def _check_reward(reward: Any) -> None:
    if not _is_number(reward):
        _warn_unless(
            False,
            "The reward returned by `step()` must be a float, int, np.integer or np.floating, "
            f"actual type: {type(reward)}",
        )
        return
    _warn_unless(not np.isnan(reward), "The reward is a NaN value.")
    _warn_unless(not np.isinf(reward), "The reward is an inf value.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and value is not True


def env_render_passive_checker(env: Env) -> RenderFrame | list[RenderFrame] | None:
    """Checks the declared render modes, calls ``env.render()``, checks and returns its result.

    Raises:
        AssertionError: The environment is in a mode that it does not declare, or declares a
            ``render_fps`` of 0 or less.
    """
    modes = env.metadata.get("render_modes")
    if modes is None:
        _warn_unless(False, "No render modes was declared: metadata has no 'render_modes'.")
    else:
        _check_render_modes(modes)
        if modes:
            _check_render_fps(env.metadata.get("render_fps"))
        _require(
            env.render_mode is None or env.render_mode in modes,
            f"The environment is in render mode {env.render_mode!r} but declares {modes}",
        )
    result = env.render()
    if env.render_mode is not None:
        _check_render_return(env.render_mode, result)
    return result


def _check_render_modes(modes: Any) -> None:
    if not isinstance(modes, list | tuple):
        _warn_unless(False, f"Expects the render_modes to be a sequence, got {type(modes)}")
        return
    fits = all(isinstance(mode, str) for mode in cast("list[Any]", modes))
    _warn_unless(fits, f"Expects all render modes to be strings, got {modes}")


def _check_render_fps(fps: Any) -> None:
    if fps is None:
        _warn_unless(False, "No render fps was declared: metadata has no 'render_fps'.")
    elif not _is_number(fps):
        _warn_unless(False, f"Expects metadata['render_fps'] to be a number, got {type(fps)}")
    else:
        _require(fps > 0, f"Expects metadata['render_fps'] to be greater than zero, got {fps}")


def _check_render_return(mode: str, result: Any) -> None:
    if mode.endswith("_list"):
        is_list = isinstance(result, list)
        _warn_unless(is_list, f"Render mode `{mode}` should produce a list, got {type(result)}")
        for frame in cast("list[Any]", result) if is_list else ():
            _check_render_return(mode.removesuffix("_list"), frame)
    elif mode in _FRAME_CHECKS:
        for fits, expected in _FRAME_CHECKS[mode]:
            if not fits(result):
                what = getattr(result, "dtype", None), getattr(result, "shape", None)
                _warn_unless(False, f"`{mode}` should {expected}, got {type(result)} {what}")
                return


def _is_text(frame: Any) -> bool:
    return isinstance(frame, str)


#: What a frame of each mode must be, tried in order until one does not hold.
_FRAME_CHECKS: dict[str, tuple[tuple[Callable[[Any], bool], str], ...]] = {
    "human": ((lambda frame: frame is None, "return None"),),
    "rgb_array": (
        (is_array, "return a numpy array"),
        (lambda frame: frame.dtype == np.uint8, "return an array of dtype uint8"),
        (lambda frame: frame.ndim == 3, "return an array with three axes"),
        (lambda frame: frame.shape[2] == 3, "return an array whose last axis has 3 elements"),
    ),
    "depth_array": (
        (is_array, "return a numpy array"),
        (lambda frame: frame.ndim == 2, "return an array with two axes"),
    ),
    "ansi": ((_is_text, "return a str"),),
    "ascii": ((_is_text, "return a str"),),
}
