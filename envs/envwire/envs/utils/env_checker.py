"""Active checks of an environment: `check_env` uses it and tests that it follows the API.

Unlike the passive checks, these reset, step, render and close the environment.
"""

from __future__ import annotations

import inspect
from copy import deepcopy
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs import error, logger, spaces
from envwire.envs.core import Env
from envwire.envs.logger import require
from envwire.envs.spaces.space import parts_of
from envwire.envs.type_guards import is_array, is_dict, is_tuple_or_list
from envwire.envs.utils.passive_env_checker import (
    data_shares_objects,
    env_render_passive_checker,
    env_reset_passive_checker,
    env_spaces_passive_checker,
    env_step_passive_checker,
)


def data_equivalence(data_1: Any, data_2: Any, exact: bool = False) -> bool:
    """Whether two values are the same.

    Args:
        data_1: Anything; dicts, tuples, lists and arrays of objects are looked into.
        data_2: What to compare with.
        exact: Whether numbers in arrays must be equal, instead of closer than 1e-5.
    """
    if type(data_1) is not type(data_2):
        return False
    if is_dict(data_1):
        same_keys = data_1.keys() == data_2.keys()
        return same_keys and all(data_equivalence(data_1[k], data_2[k], exact) for k in data_1)
    if is_tuple_or_list(data_1):
        return _same_items(data_1, data_2, exact)
    if is_array(data_1):
        return _same_arrays(data_1, data_2, exact)
    return bool(data_1 == data_2)


def _same_items(data_1: Any, data_2: Any, exact: bool) -> bool:
    pairs = zip(data_1, data_2, strict=False)
    return len(data_1) == len(data_2) and all(data_equivalence(a, b, exact) for a, b in pairs)


def _same_arrays(array_1: NDArray[Any], array_2: NDArray[Any], exact: bool) -> bool:
    if array_1.shape != array_2.shape or array_1.dtype != array_2.dtype:
        return False
    if array_1.dtype == object:
        return _same_items(np.ravel(array_1), np.ravel(array_2), exact)
    if exact:
        return bool(np.all(array_1 == array_2))
    return bool(np.allclose(array_1, array_2, rtol=1e-5, atol=1e-5))


__all__ = ["check_env", "data_equivalence"]


def check_env(
    env: Env[Any, Any],
    warn: bool | None = None,
    skip_render_check: bool = False,
    skip_close_check: bool = False,
) -> None:
    """Checks an environment: spaces, signatures, determinism, fresh results, rendering, closing.

    Args:
        env: The environment, without wrappers.
        warn: Ignored.
        skip_render_check: Whether not to make and render it in every mode that it declares.
        skip_close_check: Whether not to make it and close it twice.

    Raises:
        AssertionError: The environment breaks the API.
        TypeError: It is not an `Env`, or what should be a space is none.
        AttributeError: It has no action or no observation space.
        error.Error: `reset` takes no seed or no options.
    """
    if warn is not None:
        logger.warn("The argument `warn` of `check_env` is ignored.")
    if not isinstance(env, Env):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"check_env checks an envwire.envs.Env, got {type(env)}")
    if env.unwrapped is not env:
        logger.warn(
            "%s", f"{env} is wrapped, and its wrappers are checked too; pass env.unwrapped."
        )
    env_spaces_passive_checker(env)
    check_space_limit(env.action_space, "action")
    check_space_limit(env.observation_space, "observation")
    check_seed_deprecation(env)
    check_reset_return_info_deprecation(env)
    check_reset_return_type(env)
    check_reset_seed_determinism(env)
    check_reset_options(env)
    env_reset_passive_checker(env)
    env_step_passive_checker(env, env.action_space.sample())
    check_step_determinism(env)
    check_returned_data_not_reused(env)
    if not skip_render_check:
        check_rendering(env)
    if not skip_close_check:
        check_closing_twice(env)


def _require_same(what: str, first: Any, second: Any, *, warn_if_close: bool = True) -> None:
    """Raises if two values differ, and warns if they are close but not equal."""
    require(data_equivalence(first, second), f"{what} differ: {first} and {second}")
    if warn_if_close and not data_equivalence(first, second, exact=True):
        logger.warn("%s", f"{what} are not equal although similar: {first} and {second}")


def _require_observation(env: Env[Any, Any], observation: Any, source: str) -> None:
    require(
        observation in env.observation_space,
        f"The observation returned by `{source}` is not in the observation space: {observation!r}",
    )


def check_space_limit(space: spaces.Space[Any], space_type: str) -> None:
    """Warns about Boxes without bounds, and about actions that are not normalised.

    Args:
        space: The space; Dict and Tuple spaces are looked into.
        space_type: ``"action"`` or ``"observation"``.
    """
    if isinstance(space, spaces.Box):
        _check_box_limit(space, space_type)
    elif isinstance(space, spaces.Tuple | spaces.Dict):
        for part in parts_of(space):
            check_space_limit(part, space_type)


def _check_box_limit(box: spaces.Box, space_type: str) -> None:
    if np.any(box.low == -np.inf):
        logger.warn(f"A Box {space_type} space minimum value is -infinity, probably too low.")
    if np.any(box.high == np.inf):
        logger.warn(f"A Box {space_type} space maximum value is infinity, probably too high.")
    if space_type != "action" or len(box.shape) != 1:
        return
    lopsided = (box.low != 0) & (np.abs(box.low) != np.abs(box.high))
    if np.any(lopsided) or np.any(box.low < -1) or np.any(box.high > 1):
        logger.warn("We recommend Box action spaces of a range of [-1, 1] or [0, 1].")


def check_seed_deprecation(env: Env[Any, Any]) -> None:
    """Warns about a method `seed`, which old versions of the API had."""
    if callable(getattr(env, "seed", None)):
        logger.warn("`Env.seed` is not used any more; `reset(seed=...)` seeds.")


def check_reset_return_info_deprecation(env: Env[Any, Any]) -> None:
    """Warns about the argument ``return_info``, which old versions of the API had."""
    if "return_info" in inspect.signature(env.reset).parameters:
        logger.warn("`return_info` is not used any more; `reset` always returns `obs, info`.")


def _require_parameter(env: Env[Any, Any], name: str) -> None:
    """Raises unless `reset` takes the keyword ``name``, by itself or by ``**kwargs``."""
    parameters = inspect.signature(env.reset).parameters
    rest = parameters.get("kwargs")
    if name not in parameters and (rest is None or rest.kind is not rest.VAR_KEYWORD):
        raise error.Error(f"`{type(env).__name__}.reset` must take the keyword argument {name!r}")


def check_reset_return_type(env: Env[Any, Any]) -> None:
    """Requires that `reset` returns an observation of the space and a dict."""
    result: Any = env.reset()
    require(isinstance(result, tuple), f"`reset()` must return (obs, info), got {type(result)}")
    require(len(result) == 2, f"`reset()` must return (obs, info), got {len(result)} elements")
    _require_observation(env, result[0], "reset()")
    require(isinstance(result[1], dict), f"The info of `reset()` must be a dict: {result[1]!r}")


def check_reset_seed_determinism(env: Env[Any, Any]) -> None:
    """Requires that equal seeds begin equal episodes, and different seeds different ones."""
    _require_parameter(env, "seed")
    first, first_state = _reset_twice(env, 123)
    second, second_state = _reset_twice(env, 123)
    if env.spec is not None and not env.spec.nondeterministic:
        _require_same("Observations of `reset(seed=123)`", first[0], second[0])
        _require_same("Observations of `reset(seed=123)`, then `reset()`,", first[1], second[1])
    hint = "most likely `reset` does not call `super().reset(seed=seed)`"
    require(first_state == second_state, f"The same seed gives different generators: {hint}")
    _, other_state = _reset_twice(env, 456)
    require(first_state != other_state, f"Different seeds give the same generator: {hint}")
    default = inspect.signature(env.reset).parameters.get("seed")
    if default is not None and default.default is not None:
        logger.warn(f"The default seed of `reset` should be None, got {default.default}")


def _reset_twice(env: Env[Any, Any], seed: int) -> tuple[tuple[Any, Any], Any]:
    """Resets with a seed and then without; returns the observations and the seeded generator."""
    seeded, _ = _try_reset(env, seed=seed)
    seeded = deepcopy(seeded)
    _require_observation(env, seeded, f"reset(seed={seed})")
    state = _generator_state(env)
    unseeded, _ = env.reset()
    unseeded = deepcopy(unseeded)
    _require_observation(env, unseeded, "reset()")
    return (seeded, unseeded), state


def _try_reset(env: Env[Any, Any], **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    try:
        return env.reset(**kwargs)
    except TypeError as exc:
        raise AssertionError(f"`reset` seems to take {kwargs}, but raised: {exc}") from exc


def _generator_state(env: Env[Any, Any]) -> Any:
    # The private attribute, because reading np_random would make a generator that reset did not.
    rng: np.random.Generator | None = getattr(env.unwrapped, "_np_random", None)
    if rng is None:
        raise AssertionError(
            "There is no generator after `reset` with a seed: most likely it does not call "
            "`super().reset(seed=seed)`"
        )
    return deepcopy(rng.bit_generator.state)


def check_reset_options(env: Env[Any, Any]) -> None:
    """Requires that `reset` takes options."""
    _require_parameter(env, "options")
    _try_reset(env, options={})


def check_step_determinism(env: Env[Any, Any], seed: int = 123) -> None:
    """Requires that the same seed and action give the same step."""
    if env.spec is not None and env.spec.nondeterministic:
        return
    env.action_space.seed(seed)
    action = env.action_space.sample()
    (obs_0, reward_0, terminated_0, truncated_0, info_0), state_0 = _first_step(env, seed, action)
    (obs_1, reward_1, terminated_1, truncated_1, info_1), state_1 = _first_step(env, seed, action)
    require(state_0 == state_1, "Generators differ after the same seed and action: `np_random`")
    _require_same("Observations of a step", obs_0, obs_1)
    _require_same("Rewards of a step", reward_0, reward_1)
    _require_same("Terminations of a step", terminated_0, terminated_1, warn_if_close=False)
    unended = truncated_0 is False and truncated_1 is False
    require(unended, "The environment truncates after 1 step, something has gone very wrong.")
    _require_same("Infos of a step", info_0, info_1)


def _first_step(env: Env[Any, Any], seed: int, action: Any) -> tuple[tuple[Any, ...], Any]:
    env.reset(seed=seed)
    observation, *rest = env.step(action)
    return (deepcopy(observation), *rest), _generator_state(env)


def check_returned_data_not_reused(env: Env[Any, Any], seed: int = 123) -> None:
    """Requires that no two calls return the same observation or info object."""
    env.action_space.seed(seed)
    calls = [("reset", env.reset(seed=seed))]
    for number in ("first", "second"):
        obs, _, terminated, truncated, info = env.step(env.action_space.sample())
        calls.append((f"{number} step", (obs, info)))
        if terminated or truncated:
            break
    calls.append(("second reset", env.reset(seed=seed)))
    for (source_1, data_1), (source_2, data_2) in combinations(calls, 2):
        for what, old, new in zip(("observation", "info"), data_1, data_2, strict=True):
            require(
                not data_shares_objects(old, new),
                f"The {what}s returned by the {source_1} and the {source_2} share an object; "
                f"return a new {what} from every call, because users keep them",
            )


def check_rendering(env: Env[Any, Any]) -> None:
    """Requires that every declared render mode renders what it should."""
    if env.render_mode is not None:
        env_render_passive_checker(env)
    if env.spec is None:
        logger.warn("The other render modes are not checked: the environment was not made by make.")
        return
    for mode in env.metadata["render_modes"]:
        other = env.spec.make(render_mode=mode)
        other.reset()
        env_render_passive_checker(other)
        other.close()


def check_closing_twice(env: Env[Any, Any]) -> None:
    """Warns if closing a closed environment raises."""
    if env.spec is None:
        return
    other = env.spec.make()
    other.close()
    try:
        other.close()
    except Exception as exc:  # an environment may raise anything
        logger.warn("%s", f"`close()` on the closed environment must do nothing, but raised {exc}")
