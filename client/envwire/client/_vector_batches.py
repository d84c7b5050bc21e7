"""Batches: actions cut for sessions, and observations of sessions put together, by rules made once for a space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from envwire.codec import Family

#: Where sessions begin and end in a batch.
Bounds = Sequence[tuple[int, int]]
#: Cuts a batch of so many actions at bounds.
Cut = Callable[[Any, int, Bounds], list[Any]]
#: Puts batches of observations together.
Merge = Callable[[Sequence[Any]], Any]


def merger(space: Any, family: Family) -> Merge:
    """Returns the rule for the batches of a space.

    Args:
        space: The space of one environment's observations.
        family: Its library.
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
            merge([batch[place] for batch in batches]) for place, merge in enumerate(rules)
        )
    if isinstance(space, _numeric(family)):
        return np.concatenate
    return lambda batches: tuple(chain.from_iterable(batches))


def _numeric(family: Family) -> tuple[type[Any], ...]:
    """Returns the spaces whose elements are arrays or numbers, and their batches arrays."""
    spaces = family.spaces
    return spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete


def cutter(space: Any, family: Family) -> Cut:
    """Returns the rule for batches of actions.

    Args:
        space: The space of one environment's actions.
        family: Its library.
    """
    spaces = family.spaces
    if isinstance(space, spaces.Dict):
        parts = {key: cutter(part, family) for key, part in space.items()}
        return lambda actions, size, bounds: _dicts(
            {key: cut(actions[key], size, bounds) for key, cut in parts.items()}, len(bounds)
        )
    if isinstance(space, spaces.Tuple):
        rules = [cutter(part, family) for part in space]
        return lambda actions, size, bounds: list(
            zip(
                *(cut(actions[place], size, bounds) for place, cut in enumerate(rules)), strict=True
            )
        )
    return _slices


def _dicts(columns: dict[Any, list[Any]], count: int) -> list[Any]:
    return [{key: cuts[place] for key, cuts in columns.items()} for place in range(count)]


def _slices(actions: Any, size: int, bounds: Bounds) -> list[Any]:
    """Cuts an array or a sequence.

    Raises:
        ValueError: There is not one action for each environment.
    """
    if len(actions) != size:
        raise ValueError(f"{len(actions)} actions for {size} environments; give one for each")
    return [actions[start:stop] for start, stop in bounds]
