"""The info of a vector environment: a column and a mask for each key."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs._generic import Info

#: Python types that get a column of their own dtype; numpy's numbers do too.
_NUMBERS = (bool, int, float)


def add_info(vector_infos: Info, env_info: Info, env_num: int, num_envs: int) -> Info:
    """Puts the info of one sub-environment into the columns of ``vector_infos``.

    Beside each ``key`` there is ``_key``, a bool array of shape (num_envs,) that says which
    sub-environments have it. A dict becomes a dict of columns; numbers and arrays get an array of
    their dtype, filled with zeros for the others; anything else gets an object array. The last
    observation of an episode (``final_obs``) is always kept as an object.

    Returns:
        ``vector_infos``.
    """
    for key, value in env_info.items():
        mask = f"_{key}"
        # Where another sub-environment has a number, this may be an array: AttributeError, as in Gymnasium.
        masks = vector_infos.get(mask)
        if isinstance(value, dict) and key != "final_obs":
            nested: dict[str, Any] = vector_infos.get(key, {})
            own = cast("dict[str, Any]", value)
            vector_infos[key] = add_info(nested, own, env_num, num_envs)
        else:
            if key not in vector_infos:
                vector_infos[key] = _column(key, value, num_envs)
            vector_infos[key][env_num] = value
        if masks is None:
            masks = vector_infos[mask] = np.zeros(num_envs, dtype=np.bool_)
        masks[env_num] = True
    return vector_infos


def _column(key: str, value: Any, num_envs: int) -> NDArray[Any]:
    """An empty column for values like ``value``."""
    if key == "final_obs" or not is_numeric(value):
        return np.full(num_envs, None, dtype=object)
    return np.zeros_like(value, shape=(num_envs, *np.asarray(value).shape), subok=False)


def is_numeric(value: object) -> bool:
    """Returns whether a value gets a column of its own dtype."""
    return type(value) in _NUMBERS or isinstance(value, np.number | np.ndarray)
