"""Encodes spaces as trees of messages, and decodes them to the classes of either family.

For each kind of space there is a table row and two functions. Spaces are built by their constructors; attributes that a
constructor derives are then set to the values sent.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np

from envwire.codec.errors.faults import CodecError, key_step, located
from envwire.codec.family import Family
from envwire.codec.spaces.space_context import Row, SpaceDecoding, SpaceEncoding
from envwire.codec.values.encoding import encode_value
from envwire.codec.values.tensors import Array, data_type_of, dtype_of, encode_uniform_tensor
from envwire.v1 import spaces_pb2


def _encode_tensors(names: str, space: Any, message: Any, _: SpaceEncoding) -> None:
    for name in names.split():
        located(f".{name}", encode_uniform_tensor, getattr(space, name), getattr(message, name))


def _decode_box(message: spaces_pb2.BoxSpace, decoding: SpaceDecoding) -> Any:
    low = located(".low", decoding.tensor, message.low)
    high = located(".high", decoding.tensor, message.high)
    _check_like(".high", high, low.shape, low.dtype)
    space = decoding.make("Box", low, high, low.shape, low.dtype)
    for name in ("bounded_below", "bounded_above"):
        if not message.HasField(name):  # the constructor derived it from low or high
            continue
        bounded = located(f".{name}", decoding.tensor, getattr(message, name))
        _check_like(f".{name}", bounded, low.shape, np.dtype(bool))
        setattr(space, name, bounded)
    return space


def _encode_discrete(space: Any, message: spaces_pb2.DiscreteSpace, _: SpaceEncoding) -> None:
    message.n, message.start = int(space.n), int(space.start)
    message.data_type = located(".dtype", data_type_of, np.dtype(space.dtype))


def _decode_discrete(message: spaces_pb2.DiscreteSpace, decoding: SpaceDecoding) -> Any:
    dtype = located(".data_type", dtype_of, message.data_type)
    if dtype.kind not in "iu":
        raise CodecError(f"of type {dtype}", "an integer type").under(".data_type")
    bounds = np.iinfo(dtype)
    for name in ("n", "start"):
        if not bounds.min <= getattr(message, name) <= bounds.max:
            raise CodecError(f"{getattr(message, name)}", f"a number of {dtype}").under(f".{name}")
    space = decoding.make("Discrete", message.n, start=message.start)
    # Constructors of older Gymnasium versions take no dtype.
    space.n, space.start, space.dtype = dtype.type(message.n), dtype.type(message.start), dtype
    return space


def _encode_multi_binary(
    space: Any, message: spaces_pb2.MultiBinarySpace, _: SpaceEncoding
) -> None:
    message.shape.extend(space.shape)
    message.flat = isinstance(space.n, int)


def _decode_multi_binary(message: spaces_pb2.MultiBinarySpace, decoding: SpaceDecoding) -> Any:
    shape = tuple(message.shape)
    if message.flat and len(shape) != 1:
        raise CodecError(f"flat with the shape {shape}", "one axis")
    decoding.allowance.spend(2 * math.prod(shape))  # as the bounds of such a box would
    return decoding.make("MultiBinary", shape[0] if message.flat else shape)


def _decode_multi_discrete(message: spaces_pb2.MultiDiscreteSpace, decoding: SpaceDecoding) -> Any:
    nvec = located(".nvec", decoding.tensor, message.nvec)
    start = located(".start", decoding.tensor, message.start)
    _check_like(".start", start, nvec.shape, nvec.dtype)
    return decoding.make("MultiDiscrete", nvec, dtype=nvec.dtype, start=start)


def _encode_text(space: Any, message: spaces_pb2.TextSpace, _: SpaceEncoding) -> None:
    message.min_length, message.max_length = int(space.min_length), int(space.max_length)
    message.characters = "".join(space.character_list)
    if len(message.characters) != len(space.character_list):
        raise CodecError("an alphabet of longer texts", "single characters").under(
            ".character_list"
        )


def _decode_text(message: spaces_pb2.TextSpace, decoding: SpaceDecoding) -> Any:
    characters = message.characters
    if len(set(characters)) != len(characters):
        raise CodecError("an alphabet with repetitions", "each character once").under(".characters")
    return decoding.make(
        "Text", message.max_length, min_length=message.min_length, charset=characters
    )


def _encode_dict(space: Any, message: spaces_pb2.DictSpace, encoding: SpaceEncoding) -> None:
    # Before Gymnasium 1.4 every Dict sorted its keys if it could.
    message.sort_keys = bool(getattr(space, "sort_keys", True))
    for key, part in space.spaces.items():
        entry = message.entries.add()
        step = key_step(key)
        located(step, encode_value, key, entry.key, ".key")
        located(step, encoding.space, part, entry.space)


def _decode_dict(message: spaces_pb2.DictSpace, decoding: SpaceDecoding) -> Any:
    spaces: dict[Any, Any] = {}
    for entry in message.entries:
        key = decoding.key(entry.key)
        if key in spaces:
            raise CodecError("there twice", "each key once").under(key_step(key))
        spaces[key] = located(key_step(key), decoding.space, entry.space)
    # Given pairs, the constructor keeps the order in every version.
    space = decoding.make("Dict", list(spaces.items()))
    space.sort_keys = message.sort_keys
    return space


def _encode_parts(
    space: Any, message: spaces_pb2.TupleSpace | spaces_pb2.OneOfSpace, encoding: SpaceEncoding
) -> None:
    for index, part in enumerate(space.spaces):
        located(f"[{index}]", encoding.space, part, message.spaces.add())


def _decode_parts(
    name: str, message: spaces_pb2.TupleSpace | spaces_pb2.OneOfSpace, decoding: SpaceDecoding
) -> Any:
    parts = enumerate(message.spaces)
    return decoding.make(name, [located(f"[{i}]", decoding.space, part) for i, part in parts])


def _encode_sequence(
    space: Any, message: spaces_pb2.SequenceSpace, encoding: SpaceEncoding
) -> None:
    message.stack = bool(space.stack)
    located(".feature_space", encoding.space, space.feature_space, message.feature_space)


def _decode_sequence(message: spaces_pb2.SequenceSpace, decoding: SpaceDecoding) -> Any:
    feature_space = located(".feature_space", decoding.space, message.feature_space)
    return decoding.make("Sequence", feature_space, stack=message.stack)


def _encode_graph(space: Any, message: spaces_pb2.GraphSpace, encoding: SpaceEncoding) -> None:
    located(".node_space", encoding.space, space.node_space, message.node_space)
    if space.edge_space is not None:
        located(".edge_space", encoding.space, space.edge_space, message.edge_space)


def _decode_graph(message: spaces_pb2.GraphSpace, decoding: SpaceDecoding) -> Any:
    node_space = located(".node_space", decoding.space, message.node_space)
    edge_space = None
    if message.HasField("edge_space"):
        edge_space = located(".edge_space", decoding.space, message.edge_space)
    return decoding.make("Graph", node_space, edge_space)


def _check_like(step: str, array: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if (array.shape, array.dtype) != (shape, dtype):
        raise CodecError(
            f"{array.dtype} of shape {array.shape}", f"{dtype} of shape {shape}"
        ).under(step)


ROWS: Final = (
    Row(
        "Box", "box", partial(_encode_tensors, "low high bounded_below bounded_above"), _decode_box
    ),
    Row("Discrete", "discrete", _encode_discrete, _decode_discrete),
    Row("MultiBinary", "multi_binary", _encode_multi_binary, _decode_multi_binary),
    Row(
        "MultiDiscrete",
        "multi_discrete",
        partial(_encode_tensors, "nvec start"),
        _decode_multi_discrete,
    ),
    Row("Text", "text", _encode_text, _decode_text),
    Row("Dict", "dict", _encode_dict, _decode_dict),
    Row("Tuple", "tuple", _encode_parts, partial(_decode_parts, "Tuple")),
    Row("OneOf", "one_of", _encode_parts, partial(_decode_parts, "OneOf")),
    Row("Sequence", "sequence", _encode_sequence, _decode_sequence),
    Row("Graph", "graph", _encode_graph, _decode_graph),
)
_BY_NAME: Final = {row.name: row for row in ROWS}
_BY_FIELD: Final = {row.field: row for row in ROWS}


def encode_space(space: Any, message: spaces_pb2.Space, path: str = "space") -> None:
    """Writes a space of either family, with the generators that it and its subspaces have already.

    Args:
        space: A space of a kind with a row above.
        message: Filled in place.
        path: Name of the space in error messages.

    Raises:
        CodecError: Its class is unknown, or its bounds have no wire form.
    """
    located(path, SpaceEncoding(_BY_NAME).space, space, message)


def decode_space(message: spaces_pb2.Space, family: Family, path: str = "space") -> Any:
    """Builds a space that equals the one sent, and prints and samples like it.

    Args:
        message: The message.
        family: Classes to build spaces of.
        path: Name of the space in error messages.

    Raises:
        CodecError: The message breaks the contract, or the family has no such space.
    """
    decoding = SpaceDecoding(_BY_FIELD, family)
    space = located(path, decoding.space, message)
    decoding.restore_generators()
    return space
