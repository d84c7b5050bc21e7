"""JSON forms of a single element and of a single batch (``to_jsonable`` takes a list)."""

from __future__ import annotations

from typing import Any

from envwire.envs.spaces.batches.elements import iterate, stack
from envwire.envs.spaces.composite import parts_of
from envwire.envs.spaces.dict import Dict
from envwire.envs.spaces.space import NumericSpace, Space
from envwire.envs.spaces.tuple import Tuple


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
