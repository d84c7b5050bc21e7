"""Splits batches of actions and the arguments of resets for sessions, and joins their observations.

The functions for actions and observations are built once for each space.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from envwire.client._transports.direct.array_memory import Recycled
from envwire.codec import Family
from envwire.envs.type_guards import is_array, is_tuple_or_list
from envwire.wire.frames import Area

#: The option that says which environments are reset.
_MASK = "reset_mask"
#: The start and stop of each session in a batch.
Bounds = Sequence[tuple[int, int]]
#: Splits a batch of actions at the given bounds.
Cut = Callable[[Any, Bounds], list[Any]]
#: Joins batches of observations.
Merge = Callable[[Sequence[Any]], Any]


class BatchBuffer:
    """Memory for a large batch, into which each session's observations are received; a copy would double the cost.

    Args:
        space: The space of one environment's observations, of a fixed shape.
        sizes: Number of environments of each session.
        recycled: Has the memory.
    """

    def __init__(self, space: Any, sizes: Sequence[int], recycled: Recycled) -> None:
        shape = sum(sizes), *space.shape
        memory = recycled.new(math.prod(shape) * space.dtype.itemsize)
        self._whole: npt.NDArray[Any] = np.ndarray(shape, space.dtype, memory)
        stops = list(accumulate(sizes))
        self._parts = [
            self._whole[stop - size : stop] for size, stop in zip(sizes, stops, strict=True)
        ]

    @property
    def buffers(self) -> list[Area]:
        """The memory of each session."""
        return [np.ndarray(part.nbytes, np.uint8, part.data) for part in self._parts]

    def merged(self, batches: Sequence[Any]) -> npt.NDArray[Any]:
        """Returns the whole batch; copies the parts into it if any was received elsewhere."""
        in_place = all(
            batch.__array_interface__ == part.__array_interface__
            for batch, part in zip(batches, self._parts, strict=True)
        )
        if in_place:
            return self._whole
        fits = all(
            (batch.dtype, batch.shape) == (part.dtype, part.shape)
            for batch, part in zip(batches, self._parts, strict=True)
        )
        return np.concatenate(batches, out=self._whole if fits else None)


def row_bytes(space: Any, family: Family) -> int:
    """Returns the bytes of one observation; 0 if batches of them are not arrays."""
    if not isinstance(space, _numeric(family)):
        return 0
    length: int = math.prod(space.shape) * space.dtype.itemsize
    return length


def merger(space: Any, family: Family) -> Merge:
    """Returns the function that joins batches of observations.

    Args:
        space: The space of one environment's observations.
        family: The library of the space.
    """
    spaces = family.spaces
    if isinstance(space, spaces.Dict):
        parts = {key: merger(part, family) for key, part in space.items()}
        return lambda batches: {
            key: merge([batch[key] for batch in batches]) for key, merge in parts.items()
        }
    if isinstance(space, spaces.Tuple):
        rules = [merger(part, family) for part in space]
        return lambda batches: tuple(
            merge([batch[index] for batch in batches]) for index, merge in enumerate(rules)
        )
    if isinstance(space, _numeric(family)):
        return np.concatenate
    return lambda batches: tuple(chain.from_iterable(batches))


def _numeric(family: Family) -> tuple[type[Any], ...]:
    """Returns the classes of spaces whose batches are arrays."""
    spaces = family.spaces
    return spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete


def cutter(space: Any, family: Family) -> Cut:
    """Returns the function that splits batches of actions.

    Args:
        space: The space of one environment's actions.
        family: The library of the space.
    """
    cut = _cutter(space, family)

    def checked(actions: Any, bounds: Bounds) -> list[Any]:
        try:
            return cut(actions, bounds)
        except TypeError as error:
            raise TypeError(
                f"actions of type {type(actions).__name__} are no batch ({error}); give one action for each of "
                f"num_envs={count_of(bounds)} environments, in the form of action_space.sample()"
            ) from None

    return checked


def _cutter(space: Any, family: Family) -> Cut:
    spaces = family.spaces
    if isinstance(space, spaces.Dict):
        parts = {key: _cutter(part, family) for key, part in space.items()}
        return lambda actions, bounds: _dicts(
            {key: cut(actions[key], bounds) for key, cut in parts.items()}, len(bounds)
        )
    if isinstance(space, spaces.Tuple):
        rules = [_cutter(part, family) for part in space]
        return lambda actions, bounds: _tuples(
            [cut(actions[index], bounds) for index, cut in enumerate(rules)], len(bounds)
        )
    return slices


def _dicts(columns: dict[Any, list[Any]], count: int) -> list[Any]:
    return [{key: cuts[index] for key, cuts in columns.items()} for index in range(count)]


def _tuples(columns: list[list[Any]], count: int) -> list[Any]:
    return [tuple(cuts[index] for cuts in columns) for index in range(count)]


def slices(values: Any, bounds: Bounds, what: str = "actions", instead: str = "") -> list[Any]:
    """Splits an array or a sequence of one value for each environment.

    Args:
        values: The values.
        bounds: The environments of each session.
        what: What the values are, for errors.
        instead: What else could be given, for errors.

    Raises:
        ValueError: The number of values is not the number of environments.
    """
    count = count_of(bounds)
    if len(values) != count:
        raise ValueError(
            f"{len(values)} {what} for num_envs={count} environments; give one for each{instead}"
        )
    return [values[start:stop] for start, stop in bounds]


def count_of(bounds: Bounds) -> int:
    """Returns the number of environments in a batch."""
    return bounds[-1][1] if bounds else 0


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
