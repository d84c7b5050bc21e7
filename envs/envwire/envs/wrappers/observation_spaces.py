"""The observation spaces that wrappers make of the wrapped environment's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from envwire.envs import spaces
from envwire.envs.core import Env
from envwire.envs.spaces import Space
from envwire.envs.type_guards import is_array


def filter_dict(space: spaces.Dict, keys: Sequence[Any]) -> tuple[Space[Any], Callable[[Any], Any]]:
    """Returns the Dict of some of a Dict's entries, and the map of observations to it.

    Raises:
        TypeError: A key is not a str.
        ValueError: A key is not in the space, or there are none.
    """
    if not all(isinstance(key, str) for key in keys):
        raise TypeError(f"The filter_keys of a Dict must be str, got {keys}")
    _check_keys(space, keys, [key for key in keys if key not in space.spaces])
    parts = {key: space.spaces[key] for key in keys}
    kept = spaces.Dict(parts, sort_keys=space.sort_keys)
    return kept, lambda observation: {key: observation[key] for key in keys}


def filter_tuple(
    space: spaces.Tuple, keys: Sequence[Any]
) -> tuple[Space[Any], Callable[[Any], Any]]:
    """Returns the Tuple of some of a Tuple's entries, and the map of observations to it.

    Raises:
        TypeError: An index is not an int.
        ValueError: An index occurs twice or is not in the space, or there are none.
    """
    if not all(isinstance(key, int) for key in keys):
        raise TypeError(f"The filter_keys of a Tuple must be int, got {keys}")
    if len(set(keys)) != len(keys):
        raise ValueError(f"The filter_keys of a Tuple must differ, got {keys}")
    _check_keys(space, keys, [key for key in keys if key >= len(space.spaces)])
    parts: list[Space[Any]] = [space.spaces[key] for key in keys]
    return spaces.Tuple(parts), lambda observation: tuple(observation[key] for key in keys)


def _check_keys(space: Space[Any], keys: Sequence[Any], missing: list[Any]) -> None:
    if missing:
        raise ValueError(f"The filter_keys {missing} are not in the observation space {space}")
    if not keys:
        raise ValueError("filter_keys is empty, so that nothing of the observation would be left")


def with_dtype(space: Space[Any], dtype: Any) -> Space[Any]:
    """Returns the space of the same observations in another dtype.

    Raises:
        TypeError: The space is not a Box, Discrete, MultiDiscrete or MultiBinary.
    """
    if isinstance(space, spaces.Box):
        return spaces.Box(space.low, space.high, shape=space.shape, dtype=dtype)
    if isinstance(space, spaces.Discrete):
        return spaces.Box(space.start, space.start + space.n - 1, shape=(), dtype=dtype)
    if isinstance(space, spaces.MultiDiscrete):
        return spaces.MultiDiscrete(space.nvec, dtype=dtype, start=space.start)
    if isinstance(space, spaces.MultiBinary):
        return spaces.Box(0, 1, shape=space.shape, dtype=dtype)
    raise TypeError(
        f"DtypeObservation needs a Box, Discrete, MultiDiscrete or MultiBinary, got {space}"
    )


def pixel_space(env: Env[Any, Any]) -> spaces.Box:
    """Returns the space of the frames that ``env`` renders; resets ``env`` to see one.

    Raises:
        ValueError: The environment does not render.
        TypeError: It renders no arrays.
    """
    if env.render_mode in (None, "human"):
        raise ValueError(f"AddRenderObservation needs frames, but render_mode={env.render_mode!r}")
    env.reset()
    frame: Any = env.render()
    if not is_array(frame):
        raise TypeError(f"AddRenderObservation needs frames that are arrays, got {type(frame)}")
    return spaces.Box(0, 255, shape=frame.shape, dtype=np.uint8)
