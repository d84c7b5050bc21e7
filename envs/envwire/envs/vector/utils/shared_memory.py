"""Batches of elements in memory that several processes share."""
# ruff: noqa: ARG001 - each rule takes the arguments of the function that it is registered with

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs.error import CustomSpaceError
from envwire.envs.spaces import Dict, Graph, OneOf, Sequence, Space, Text, Tuple, flatten, unflatten
from envwire.envs.spaces.batched_elements import iterate
from envwire.envs.spaces.batched_spaces import batch_space
from envwire.envs.spaces.space import NumericSpace, map_parts


@singledispatch
def create_shared_memory(space: Space[Any], n: int = 1, ctx: Any = None) -> Any:
    """Makes shared memory for a batch.

    Args:
        space: The space of one element.
        n: How many elements the batch has.
        ctx: A context of `multiprocessing`; by default the module itself.

    Returns:
        Shared arrays of bytes, in the form of the space.

    Raises:
        TypeError: ``space`` is not a space, or its elements have no fixed size.
        CustomSpaceError: The class of the space has no rule.
    """
    raise _no_rule("create_shared_memory", space)


@create_shared_memory.register(NumericSpace)
def _create_array(space: NumericSpace[Any], n: int = 1, ctx: Any = None) -> Any:
    return _allocate(ctx, n * int(np.prod(space.shape)) * space.dtype.itemsize)


@create_shared_memory.register(Text)
def _create_text(space: Text, n: int = 1, ctx: Any = None) -> Any:
    return _allocate(ctx, n * space.max_length * np.dtype(np.int32).itemsize)


@create_shared_memory.register(Tuple)
@create_shared_memory.register(Dict)
def _create_parts(space: Tuple | Dict, n: int = 1, ctx: Any = None) -> Any:
    return map_parts(space, lambda part, _: create_shared_memory(part, n, ctx))


@create_shared_memory.register(OneOf)
def _create_one_of(space: OneOf, n: int = 1, ctx: Any = None) -> tuple[Any, ...]:
    positions = _allocate(ctx, n * np.dtype(np.int64).itemsize)
    return positions, *(create_shared_memory(part, n, ctx) for part in space.spaces)


@create_shared_memory.register(Graph)
@create_shared_memory.register(Sequence)
def _create_dynamic(space: Graph | Sequence, n: int = 1, ctx: Any = None) -> Any:
    raise TypeError(
        f"{space} has a dynamic shape, so there is no shared memory of a fixed size for it; send "
        "its elements between processes instead."
    )


def _allocate(ctx: Any, size: int) -> Any:
    if ctx is None:
        import multiprocessing

        ctx = multiprocessing
    return ctx.Array("B", size)


@singledispatch
def read_from_shared_memory(space: Space[Any], shared_memory: Any, n: int = 1) -> Any:
    """Returns the batch in the memory.

    Args:
        space: The space of one element.
        shared_memory: What `create_shared_memory` made.
        n: How many elements the batch has.

    Returns:
        The batch. Its arrays *are* the shared memory: copy them to keep their values.

    Raises:
        TypeError: ``space`` is not a space.
        CustomSpaceError: The class of the space has no rule.
    """
    raise _no_rule("read_from_shared_memory", space)


@read_from_shared_memory.register(NumericSpace)
def _read_array(space: NumericSpace[Any], shared_memory: Any, n: int = 1) -> NDArray[Any]:
    return np.reshape(_view(shared_memory, space.dtype), (n, *space.shape))


@read_from_shared_memory.register(Text)
def _read_text(space: Text, shared_memory: Any, n: int = 1) -> tuple[str, ...]:
    rows = np.reshape(_view(shared_memory, np.dtype(np.int32)), (n, space.max_length))
    return tuple(unflatten(space, row) for row in rows)


@read_from_shared_memory.register(Tuple)
@read_from_shared_memory.register(Dict)
def _read_parts(space: Tuple | Dict, shared_memory: Any, n: int = 1) -> Any:
    return map_parts(space, lambda part, key: read_from_shared_memory(part, shared_memory[key], n))


@read_from_shared_memory.register(OneOf)
def _read_one_of(
    space: OneOf, shared_memory: tuple[Any, ...], n: int = 1
) -> tuple[tuple[Any, Any], ...]:
    columns = [
        list(iterate(batch_space(part, n), read_from_shared_memory(part, memory, n)))
        for part, memory in zip(space.spaces, shared_memory[1:], strict=True)
    ]
    positions = _view(shared_memory[0], np.dtype(np.int64))
    return tuple((position, columns[position][i]) for i, position in enumerate(positions))


@singledispatch
def write_to_shared_memory(space: Space[Any], index: int, value: Any, shared_memory: Any) -> None:
    """Writes one element of the batch.

    Args:
        space: The space of the element.
        index: Its index in the batch.
        value: The element.
        shared_memory: What `create_shared_memory` made.

    Raises:
        TypeError: ``space`` is not a space.
        CustomSpaceError: The class of the space has no rule.
    """
    raise _no_rule("write_to_shared_memory", space)


@write_to_shared_memory.register(NumericSpace)
def _write_array(space: NumericSpace[Any], index: int, value: Any, shared_memory: Any) -> None:
    _write_row(shared_memory, index, np.asarray(value, space.dtype).flatten())


@write_to_shared_memory.register(Text)
def _write_text(space: Text, index: int, value: str, shared_memory: Any) -> None:
    _write_row(shared_memory, index, flatten(space, value))


@write_to_shared_memory.register(Tuple)
def _write_tuple(
    space: Tuple, index: int, value: tuple[Any, ...], shared_memory: tuple[Any, ...]
) -> None:
    for part, item, memory in zip(space.spaces, value, shared_memory, strict=True):
        write_to_shared_memory(part, index, item, memory)


@write_to_shared_memory.register(Dict)
def _write_dict(
    space: Dict, index: int, value: dict[Any, Any], shared_memory: dict[Any, Any]
) -> None:
    for key, part in space.items():
        write_to_shared_memory(part, index, value[key], shared_memory[key])


@write_to_shared_memory.register(OneOf)
def _write_one_of(
    space: OneOf, index: int, value: tuple[Any, Any], shared_memory: tuple[Any, ...]
) -> None:
    position, item = value
    _write_row(shared_memory[0], index, np.array([position], np.int64))
    write_to_shared_memory(space.spaces[position], index, item, shared_memory[1 + position])


def _view(shared_memory: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(shared_memory.get_obj(), dtype)


def _write_row(shared_memory: Any, index: int, row: NDArray[Any]) -> None:
    _view(shared_memory, row.dtype)[index * row.size : (index + 1) * row.size] = row


def _no_rule(name: str, space: object) -> Exception:
    kind = type(space).__name__
    if isinstance(space, Space):
        return CustomSpaceError(f"{name} has no rule for {kind}; add one with {name}.register.")
    return TypeError(f"{name} needs a space, got {space!r} of type {kind}.")
