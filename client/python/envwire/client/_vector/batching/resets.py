"""Splits the arguments of a vector reset for each session: seeds, options and the reset mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from envwire.client._vector.batching.batches import Bounds, count_of, slices
from envwire.envs.type_guards import is_array, is_tuple_or_list

_MASK = "reset_mask"


class ResetOptions(NamedTuple):
    """The options of one session: one dict for all its environments, or one for each."""

    common: Mapping[Any, Any] | None = None
    each: Sequence[Mapping[Any, Any]] = ()

    @property
    def unmasked(self) -> ResetOptions:
        """The options without a mask: a new session has to reset all its environments."""
        if self.common is None:
            return self
        common = {key: value for key, value in self.common.items() if key != _MASK}
        return ResetOptions(common, self.each)


def cut_seeds(seed: Any, bounds: Bounds) -> list[Any]:
    """Returns the seed of each session: None, the number for its first environment, or one for each environment.

    Args:
        seed: The seed, as `SyncVectorEnv.reset` takes it.
        bounds: The environments of each session.

    Raises:
        ValueError: The number of seeds is not the number of environments.
    """
    if seed is None:
        return [None] * len(bounds)
    if isinstance(seed, int):
        return [seed + start for start, _ in bounds]
    return slices(seed, bounds, "seeds", ", one number, or None")


def cut_options(options: Any, bounds: Bounds) -> list[ResetOptions]:
    """Returns the options of each session.

    Args:
        options: A dict for all environments, or a list with one for each. A mask is removed from the dict, as
            `SyncVectorEnv` does.
        bounds: The environments of each session.

    Raises:
        TypeError: The mask is not a bool array.
        ValueError: The mask or the list does not have one element per environment; or the mask selects none.
    """
    if is_tuple_or_list(options):
        each: list[dict[Any, Any]] = [own or {} for own in options]
        parts = slices(each, bounds, "options", ", or one dict for all")
        return [ResetOptions(None, part) for part in parts]
    if options is None or _MASK not in options:
        return [ResetOptions(options)] * len(bounds)
    mask = _checked(options.pop(_MASK), count_of(bounds))
    return [ResetOptions({**options, _MASK: mask[start:stop]}) for start, stop in bounds]


def _checked(mask: Any, num_envs: int) -> Any:
    if not is_array(mask):
        raise TypeError(f"options['reset_mask'] must be a bool array, got {type(mask)}")
    if mask.shape != (num_envs,):
        raise ValueError(f"options['reset_mask'] must have shape ({num_envs},), got {mask.shape}")
    if mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask'] must be of dtype bool, got {mask.dtype}")
    if not mask.any():
        raise ValueError("options['reset_mask'] chooses no environment; make it true somewhere")
    return mask
