"""The ``reset_mask`` in the options of a vector environment's reset: which copies to reset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.envs.spaces.narrow import is_array

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pop_reset_mask(options: dict[str, Any] | None, num_envs: int) -> NDArray[np.bool_]:
    """Takes the mask out of ``options`` and returns it; all true if there is none.

    Raises:
        TypeError: It is not an array of bool.
        ValueError: Its shape is not (num_envs,), or it chooses nothing.
    """
    if options is None or "reset_mask" not in options:
        return np.ones(num_envs, dtype=np.bool_)
    mask: Any = options.pop("reset_mask")
    if not is_array(mask) or mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask'] must be a bool array, got {mask!r}")
    if mask.shape != (num_envs,):
        raise ValueError(f"options['reset_mask'] must have shape ({num_envs},), got {mask.shape}")
    if not mask.any():
        raise ValueError(
            "options['reset_mask'] must be true somewhere; it chooses nothing to reset"
        )
    return mask
