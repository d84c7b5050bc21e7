"""Batched spaces: the space of n elements of one space, or of one element from each of n spaces.

A space without a rule of its own batches to a `Tuple` of copies; one derived from `NumericSpace`, whose
batches are arrays, needs a rule. Register one for your own class of space with
``batch_space.register(MySpace)``.
"""
# ruff: noqa: ARG001 - each rule takes the arguments of the function that it is registered with

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import singledispatch
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs.error import CustomSpaceError
from envwire.envs.spaces.box import Box
from envwire.envs.spaces.dict import Dict
from envwire.envs.spaces.discrete import Discrete
from envwire.envs.spaces.multi_binary import MultiBinary
from envwire.envs.spaces.multi_discrete import MultiDiscrete
from envwire.envs.spaces.space import CompositeSpace, NumericSpace, Space
from envwire.envs.spaces.text import Text
from envwire.envs.spaces.tuple import Tuple

#: Seeds of the copies in a batch are drawn below this.
_SEED_LIMIT = 10**8


@singledispatch
def batch_space(space: Space[Any], n: int = 1) -> Space[Any]:
    """Makes the space of batches of ``n`` elements.

    Arrays get one more axis in front, numbers become arrays, dictionaries and tuples keep their
    form, and the elements of all other spaces are put in a tuple. The batch draws from copies of
    the space's generators.

    Args:
        space: The space of one element.
        n: How many elements a batch has.

    Returns:
        The space of the batches.

    Raises:
        TypeError: ``space`` is not a space.
        CustomSpaceError: The class derives from `NumericSpace` and has no rule.
    """
    raise TypeError(f"batch_space needs a space, got {space!r} of type {type(space).__name__}.")


@batch_space.register(Space)
def _batch_other(space: Space[Any], n: int = 1) -> Tuple:
    rng = deepcopy(space.np_random)
    batch = Tuple((deepcopy(space) for _ in range(n)), seed=deepcopy(rng))
    batch.seed([int(seed) for seed in rng.integers(0, _SEED_LIMIT, n)])
    return batch


@batch_space.register(NumericSpace)
def _batch_without_rule(space: NumericSpace[Any], n: int = 1) -> NoReturn:
    name = type(space).__name__
    raise CustomSpaceError(
        f"Batches of {name} are arrays, and batch_space has no rule for their space; add one with "
        f"batch_space.register({name}), or derive {name} from Space, whose batches are tuples."
    )


@batch_space.register(Box)
@batch_space.register(MultiBinary)
@batch_space.register(MultiDiscrete)
def _batch_arrays(space: Box | MultiBinary | MultiDiscrete, n: int = 1) -> Box:
    low, high = (np.tile(bound, (n, *(1,) * bound.ndim)) for bound in _bounds(space))
    return Box(low, high, dtype=space.dtype, seed=deepcopy(space.np_random))


@batch_space.register(Discrete)
def _batch_discrete(space: Discrete, n: int = 1) -> MultiDiscrete:
    nvec, start = np.full(n, space.n), np.full(n, space.start)
    return MultiDiscrete(nvec, space.dtype, deepcopy(space.np_random), start)


@batch_space.register(Tuple)
def _batch_tuple(space: Tuple, n: int = 1) -> Tuple:
    return Tuple((batch_space(part, n) for part in space), deepcopy(space.np_random))


@batch_space.register(Dict)
def _batch_dict(space: Dict, n: int = 1) -> Dict:
    parts = {key: batch_space(part, n) for key, part in space.items()}
    return Dict(parts, deepcopy(space.np_random), sort_keys=space.sort_keys)


def _bounds(space: Box | MultiBinary | MultiDiscrete) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the smallest and the largest value of each entry."""
    if isinstance(space, Box):
        return space.low, space.high
    if isinstance(space, MultiBinary):
        return np.zeros(space.shape, space.dtype), np.ones(space.shape, space.dtype)
    return space.start, space.start + (space.nvec - 1)


@singledispatch
def batch_differing_spaces(spaces: Any) -> Space[Any]:
    """Makes the space of batches with one element from each of several similar spaces.

    Args:
        spaces: Spaces of one class, dtype and shape, with bounds or counts that may differ.

    Returns:
        The space of the batches, with a copy of the first space's generator.

    Raises:
        ValueError: There are no spaces, or their dtypes, shapes or keys differ, or those of
            `Discrete` spaces have no integer dtype in common.
        TypeError: The spaces are of different classes, or of one that has no rule.
    """
    if len(spaces) == 0:
        raise ValueError("batch_differing_spaces needs at least one space, got none.")
    kind = cast("type[Space[Any]]", type(spaces[0]))
    if not all(isinstance(space, kind) for space in spaces):
        names = [type(space).__name__ for space in spaces]
        raise TypeError(f"The spaces of a batch must be of one class, got {names}.")
    rule = batch_differing_spaces.dispatch(kind)
    if rule is batch_differing_spaces.dispatch(object):
        raise TypeError(
            f"batch_differing_spaces has no rule for {kind.__name__}; "
            f"add one with batch_differing_spaces.register({kind.__name__})."
        )
    return rule(spaces)


@batch_differing_spaces.register(Box)
@batch_differing_spaces.register(MultiBinary)
@batch_differing_spaces.register(MultiDiscrete)
def _differing_arrays(spaces: Sequence[Box | MultiBinary | MultiDiscrete]) -> Box:
    dtype = _same("dtypes", spaces, lambda space: space.dtype)
    _same("shapes", spaces, lambda space: space.shape)
    lows, highs = zip(*map(_bounds, spaces), strict=True)
    return Box(np.array(lows), np.array(highs), dtype=dtype, seed=_first_rng(spaces))


@batch_differing_spaces.register(Discrete)
def _differing_discrete(spaces: Sequence[Discrete]) -> MultiDiscrete:
    dtype = np.result_type(*(space.dtype for space in spaces))
    if dtype.kind == "f":  # the one way out of int64 and uint64, which loses integers
        raise ValueError(f"No integer dtype holds the elements of all of {list(spaces)}.")
    nvec, start = [space.n for space in spaces], [space.start for space in spaces]
    return MultiDiscrete(nvec, dtype, _first_rng(spaces), start)


@batch_differing_spaces.register(Tuple)
def _differing_tuple(spaces: Sequence[Tuple]) -> Tuple:
    _same("lengths", spaces, len)
    parts = zip(*(space.spaces for space in spaces), strict=True)
    return Tuple((batch_differing_spaces(part) for part in parts), _first_rng(spaces))


@batch_differing_spaces.register(Dict)
def _differing_dict(spaces: Sequence[Dict]) -> Dict:
    keys = _same("keys", spaces, lambda space: space.keys())
    parts = {key: batch_differing_spaces([space[key] for space in spaces]) for key in keys}
    return Dict(parts, _first_rng(spaces), sort_keys=spaces[0].sort_keys)


@batch_differing_spaces.register(Text)
@batch_differing_spaces.register(CompositeSpace)
def _differing_as_tuple(spaces: Sequence[Space[Any]]) -> Tuple:
    """Batches spaces whose elements cannot be stacked: as a `Tuple` of copies."""
    return Tuple((deepcopy(space) for space in spaces), _first_rng(spaces))


def _same(what: str, spaces: Sequence[Any], read: Callable[[Any], Any]) -> Any:
    """Returns what the spaces have in common, or raises `ValueError`."""
    values = [read(space) for space in spaces]
    if any(value != values[0] for value in values):
        raise ValueError(f"The {what} of the spaces in a batch must be the same, got {values}.")
    return values[0]


def _first_rng(spaces: Sequence[Space[Any]]) -> np.random.Generator:
    return deepcopy(spaces[0].np_random)
