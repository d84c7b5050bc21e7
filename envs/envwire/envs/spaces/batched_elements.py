"""Batches of elements: allocating, filling and splitting them, and their JSON forms."""
# ruff: noqa: ARG001 - each rule takes the arguments of the function that it is registered with

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs.error import CustomSpaceError
from envwire.envs.spaces.dict import Dict
from envwire.envs.spaces.discrete import Discrete
from envwire.envs.spaces.space import NumericSpace, Space, map_parts, parts_of
from envwire.envs.spaces.text import Text
from envwire.envs.spaces.tuple import Tuple

#: Makes an array from a shape and the keyword ``dtype``, as `numpy.zeros` does.
Allocate: TypeAlias = Callable[..., NDArray[Any]]


@singledispatch
def create_empty_array(space: Space[Any], n: int = 1, fn: Allocate = np.zeros) -> Any:
    """Allocates a batch, to be passed to `concatenate` as ``out``.

    Args:
        space: The space of one element.
        n: How many elements the batch has.
        fn: What makes the arrays, such as `numpy.zeros` or `numpy.empty`.

    Returns:
        Arrays of shape (n, ...) in the form of the space; a tuple of ``n`` placeholders for spaces
        whose elements cannot be stacked; None for classes of space without a rule. It need not
        be an element of the batched space.

    Raises:
        TypeError: ``space`` is not a space.
    """
    raise _not_a_space("create_empty_array", space)


@create_empty_array.register(Space)
def _empty_other(space: Space[Any], n: int = 1, fn: Allocate = np.zeros) -> None:
    return None


@create_empty_array.register(NumericSpace)
def _empty_array(space: NumericSpace[Any], n: int = 1, fn: Allocate = np.zeros) -> NDArray[Any]:
    return fn((n, *space.shape), dtype=space.dtype)


@create_empty_array.register(Tuple)
@create_empty_array.register(Dict)
def _empty_parts(space: Tuple | Dict, n: int = 1, fn: Allocate = np.zeros) -> Any:
    return map_parts(space, lambda part, _: create_empty_array(part, n, fn))


@create_empty_array.register(Text)
def _empty_texts(space: Text, n: int = 1, fn: Allocate = np.zeros) -> tuple[str, ...]:
    return (space.characters[:1] * space.min_length,) * n


@singledispatch
def concatenate(space: Space[Any], items: Iterable[Any], out: Any) -> Any:
    """Stacks elements into one batch.

    Args:
        space: The space of one element.
        items: The elements.
        out: Where arrays are written to, as `create_empty_array` makes it.

    Returns:
        The batch. Its arrays are those of ``out``; elements of other spaces are in a new tuple.

    Raises:
        TypeError: ``space`` is not a space.
    """
    raise _not_a_space("concatenate", space)


@concatenate.register(Space)
def _concatenate_other(space: Space[Any], items: Iterable[Any], out: Any) -> tuple[Any, ...]:
    return tuple(items)


@concatenate.register(NumericSpace)
def _concatenate_arrays(
    space: NumericSpace[Any], items: Iterable[Any], out: NDArray[Any]
) -> NDArray[Any]:
    rows = list(items)
    return np.stack(rows, axis=0, out=out) if rows else out


@concatenate.register(Tuple)
@concatenate.register(Dict)
def _concatenate_parts(space: Tuple | Dict, items: Iterable[Any], out: Any) -> Any:
    rows = list(items)

    def concatenate_part(part: Space[Any], key: Any) -> Any:
        return concatenate(part, [row[key] for row in rows], out[key])

    return map_parts(space, concatenate_part)


def stack(space: Space[Any], items: Iterable[Any]) -> Any:
    """Stacks elements into a new batch."""
    elements = list(items)
    return concatenate(space, elements, create_empty_array(space, len(elements)))


@singledispatch
def iterate(space: Space[Any], items: Any) -> Iterator[Any]:
    """Splits a batch into its elements.

    Args:
        space: The space of the batch, as `batch_space` makes it.
        items: The batch.

    Returns:
        An iterator over the elements. Their arrays may be views of the batch.

    Raises:
        TypeError: ``space`` is not a space, or its elements are not batches.
        CustomSpaceError: The class of the space has no rule.
    """
    raise _not_a_space("iterate", space)


@iterate.register(NumericSpace)
def _iterate_array(space: NumericSpace[Any], items: Any) -> Iterator[Any]:
    try:
        return iter(items)
    except TypeError as e:
        raise TypeError(f"An element of {space} must be an array of a batch, got {items!r}.") from e


@iterate.register(Space)
def _iterate_other(space: Space[Any], items: Any) -> Iterator[Any]:
    name = type(space).__name__
    raise CustomSpaceError(
        f"iterate has no rule for {name}; add one with iterate.register({name})."
    )


@iterate.register(Discrete)
def _iterate_discrete(space: Discrete, items: Any) -> Iterator[Any]:
    raise TypeError(f"An element of {space} is one number, not a batch: it cannot be iterated.")


@iterate.register(Tuple)
def _iterate_tuple(space: Tuple, items: Any) -> Iterator[Any]:
    without_rule = [part for part in space if iterate.dispatch(type(part)) is _iterate_other]
    if not without_rule:
        return zip(*(iterate(part, items[i]) for i, part in enumerate(space)), strict=True)
    try:  # the batch of a space that cannot be stacked has one part for each element
        return iter(items)
    except TypeError as e:
        raise CustomSpaceError(
            f"iterate has no rule for {without_rule}, and {items!r} cannot be iterated as it is."
        ) from e


@iterate.register(Dict)
def _iterate_dict(space: Dict, items: Mapping[Any, Any]) -> Iterator[dict[Any, Any]]:
    columns = [iterate(part, items[key]) for key, part in space.items()]
    return (dict(zip(space, row, strict=True)) for row in zip(*columns, strict=True))


def elements_of(space: Space[Any], batch: Any) -> list[Any] | None:
    """Returns the elements of a batch, or None if ``batch`` cannot be split."""
    try:
        return list(iterate(space, batch))
    except (TypeError, ValueError, LookupError, CustomSpaceError):
        return None


def _not_a_space(function: str, value: object) -> TypeError:
    return TypeError(f"{function} needs a space, got {value!r} of type {type(value).__name__}.")


def element_to_json(space: Space[Any], value: Any) -> Any:
    """Turns one element of ``space`` into something that the ``json`` module takes."""
    batch = space.to_jsonable([value])
    return batch if _is_column_wise(space) else batch[0]


def element_from_json(space: Space[Any], data: Any) -> Any:
    """Turns what `element_to_json` made back into an element."""
    return space.from_jsonable(data if _is_column_wise(space) else [data])[0]


def batch_to_json(space: Space[Any], batched: Space[Any], batch: Any) -> Any:
    """Turns one batch of elements of ``space`` into something that the ``json`` module takes.

    Args:
        space: The space of one element.
        batched: What `batch_space` makes of it, for batches of any size.
        batch: The batch.
    """
    if is_stackable(space):
        return batched.to_jsonable([batch])
    return space.to_jsonable(iterate(batched, batch))


def batch_from_json(space: Space[Any], batched: Space[Any], data: Any) -> Any:
    """Turns what `batch_to_json` made back into a batch."""
    if is_stackable(space):
        return batched.from_jsonable(data)[0]
    return stack(space, space.from_jsonable(data))


def is_stackable(space: Space[Any]) -> bool:
    """Returns whether the batched space takes batches of any size: its leaves are all arrays."""
    if isinstance(space, (Dict, Tuple)):
        return all(is_stackable(part) for part in parts_of(space))
    return isinstance(space, NumericSpace)


def _is_column_wise(space: Space[Any]) -> bool:
    """Returns whether the space's JSONable batches are not lists with one entry for each element."""
    return isinstance(space, (Dict, Tuple)) or getattr(space, "stack", False)
