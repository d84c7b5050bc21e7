"""Splits the arguments of a vector reset for each session: seeds, options and the reset mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from envwire.client._vector.batching.batches import Bounds
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


def cut_seeds(seed: Any, num_envs: int, bounds: Bounds) -> list[Any]:
    """Returns the seed of each session: None, the number for its first environment, or one for each environment.

    Args:
        seed: The seed, as `SyncVectorEnv.reset` takes it.
        num_envs: Number of environments.
        bounds: The environments of each session.

    Raises:
        ValueError: The number of seeds is not the number of environments.
    """
    if seed is None:
        return [None] * len(bounds)
    if isinstance(seed, int):
        return [seed + start for start, _ in bounds]
    if len(seed) != num_envs:
        raise ValueError(
            f"{len(seed)} seeds for num_envs={num_envs} environments; give one for each, one number, or None"
        )
    return [seed[start:stop] for start, stop in bounds]


def cut_options(options: Any, num_envs: int, bounds: Bounds) -> list[ResetOptions]:
    """Returns the options of each session.

    Args:
        options: A dict for all environments, or a list with one for each. A mask is removed from the dict, as
            `SyncVectorEnv` does.
        num_envs: Number of environments.
        bounds: The environments of each session.

    Raises:
        TypeError: The mask is not a bool array.
        ValueError: The mask or the list does not have one element per environment; or the mask selects none.
    """
    if is_tuple_or_list(options):
        if len(options) != num_envs:
            raise ValueError(
                f"{len(options)} options for num_envs={num_envs} environments; give one for each, or one dict for all"
            )
        each: list[dict[Any, Any]] = [own or {} for own in options]
        return [ResetOptions(None, each[start:stop]) for start, stop in bounds]
    if options is None or _MASK not in options:
        return [ResetOptions(options)] * len(bounds)
    mask = _checked(options.pop(_MASK), num_envs)
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
