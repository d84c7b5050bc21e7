"""Converts observations and infos to JSON, and actions from JSON by their space."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from envwire.envs import spaces

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Key for a value that is not a mapping, since OpenEnv's actions and observations are objects.
VALUE = "value"
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
#: Field that every OpenEnv action has in addition to the environment's own.
_METADATA = "metadata"


def to_object(value: Any) -> dict[str, Any]:
    """Returns an observation as a JSON object: itself if it is a mapping, else under "value"."""
    plain = to_json(value)
    return plain if isinstance(value, Mapping) else {VALUE: plain}


def to_json(value: Any) -> Any:
    """Returns a value as JSON: arrays and tuples become lists, and values without a JSON form their text.

    JSON has no NaN and no infinities: they are texts, "NaN", "Infinity" and "-Infinity", as in protobuf's JSON.
    """
    if isinstance(value, np.generic):
        value = cast("Any", value).item()
    if isinstance(value, float) and not math.isfinite(value):
        return _NOT_FINITE[str(value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        numeric = array.dtype.kind in "biuf" and bool(np.isfinite(array).all())
        return array.tolist() if numeric else to_json(array.tolist())
    if isinstance(value, Mapping):
        items = cast("Iterable[tuple[Any, Any]]", value.items())
        return {str(key): to_json(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in cast("Sequence[Any]", value)]
    return str(cast("object", value))


def action_of(space: spaces.Space[Any], data: Mapping[str, Any]) -> Any:
    """Returns the action in an OpenEnv message.

    Args:
        space: The action space.
        data: The items of a Dict space, or {"value": ...}.

    Raises:
        ValueError: The data does not match the space; the message says where and what is expected.
    """
    if isinstance(space, spaces.Dict):
        own = {key: item for key, item in data.items() if key != _METADATA or key in space.spaces}
        return read(space, own)
    if VALUE not in data:
        raise ValueError(f'the action of {space} is missing; send {{"{VALUE}": ...}}')
    return read(space, data[VALUE])


@singledispatch
def read(space: spaces.Space[Any], value: Any) -> Any:
    """Returns the element of a space that a JSON value describes.

    Raises:
        ValueError: The value does not describe an element of the space.
    """
    raise ValueError(f"actions of {type(space).__name__} spaces have no JSON form: {value!r}")


@read.register
def _(space: spaces.Discrete, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise _unexpected(space, "a whole number", value) from None


@read.register(spaces.Box)
@read.register(spaces.MultiBinary)
@read.register(spaces.MultiDiscrete)
def _(space: Any, value: Any) -> Any:
    try:
        given = np.asarray(value)
        array = given.astype(space.dtype)
    except (ValueError, TypeError, OverflowError):
        raise _unexpected(space, f"numbers of shape {space.shape}", value) from None
    rounded = array.dtype.kind != "f" and not np.array_equal(given, array)
    if array.shape != space.shape or rounded:
        raise _unexpected(space, f"{array.dtype} of shape {space.shape}", value)
    return array


@read.register
def _(space: spaces.Text, value: Any) -> str:
    if not isinstance(value, str):
        raise _unexpected(space, "a text", value)
    return value


@read.register
def _(space: spaces.Dict, value: Any) -> dict[str, Any]:
    items = cast("Mapping[str, Any]", value if isinstance(value, Mapping) else {})
    if set(items) != set(space.spaces):
        raise _unexpected(space, f"an object with the keys {sorted(space.spaces)}", value)
    return {key: read(item, items[key]) for key, item in space.spaces.items()}


@read.register
def _(space: spaces.Tuple, value: Any) -> tuple[Any, ...]:
    if not _is_list(value) or len(value) != len(space.spaces):
        raise _unexpected(space, f"a list of {len(space.spaces)}", value)
    return tuple(read(item, each) for item, each in zip(space.spaces, value, strict=True))


@read.register
def _(space: spaces.OneOf, value: Any) -> tuple[Any, ...]:
    if not _is_list(value) or len(value) != 2 or value[0] not in range(len(space.spaces)):
        raise _unexpected(space, "a list of the chosen space's number and its value", value)
    return (np.int64(value[0]), read(space.spaces[value[0]], value[1]))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _unexpected(space: Any, expected: str, value: Any) -> ValueError:
    return ValueError(f"{space} takes {expected}, and got {str(value)[:200]}")
