"""Arguments of a vector reset: the seeds, and the mask of the sub-environments to reset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs._generic import Options
from envwire.envs.type_guards import is_array

#: The seed of the first sub-environment, or one for each.
Seeds: TypeAlias = int | Sequence[int | None] | None

_MASK = "reset_mask"


def spread_seed(seed: Seeds, num_envs: int) -> Sequence[int | None]:
    """Returns a seed for each sub-environment: ``seed + i`` for the i-th if it is one number.

    Raises:
        ValueError: The number of seeds is not ``num_envs``.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int):
        return [seed + index for index in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"Expected {num_envs} seeds, one per sub-environment, got {seed}")
    return seed


def read_reset_mask(options: Options, num_envs: int) -> NDArray[np.bool_]:
    """Returns ``options["reset_mask"]``, which sub-environments to reset; all if there is none.

    Raises:
        TypeError: It is not an array of bool.
        ValueError: Its shape is not (num_envs,), or it selects none.
    """
    if options is None or _MASK not in options:
        return np.ones(num_envs, dtype=np.bool_)
    mask: Any = options[_MASK]
    if not is_array(mask) or mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask'] must be a bool array, got {mask!r}")
    if mask.shape != (num_envs,):
        raise ValueError(f"options['reset_mask'] must have shape ({num_envs},), got {mask.shape}")
    if not mask.any():
        raise ValueError("options['reset_mask'] must be true somewhere: it chooses nothing")
    return mask


def pop_reset_mask(options: Options, num_envs: int) -> NDArray[np.bool_]:
    """Removes the mask from ``options``, which the sub-environments get, and returns it."""
    mask = read_reset_mask(options, num_envs)
    if options is not None and _MASK in options:
        del options[_MASK]
    return mask
