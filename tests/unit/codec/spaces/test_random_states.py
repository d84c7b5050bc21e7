"""Generators go on drawing on the other side where they were."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError

from envwire.codec import (
    CodecError,
    decode_mapping,
    decode_random_state,
    encode_mapping,
    encode_random_state,
    restore_random_state,
)
from envwire.v1 import spaces_pb2

KINDS = [
    np.random.PCG64,
    np.random.PCG64DXSM,
    np.random.MT19937,
    np.random.Philox,
    np.random.SFC64,
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def generator(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of each kind that has drawn, and holds half of a drawn number back."""
    generator = np.random.Generator(request.param(42))
    generator.integers(5, size=3, dtype=np.int32)
    generator.standard_normal(5)
    return generator


def encoded(generator: np.random.Generator) -> spaces_pb2.RandomState:
    message = spaces_pb2.RandomState()
    encode_random_state(generator, message)
    return spaces_pb2.RandomState.FromString(message.SerializeToString())


def draws(generator: np.random.Generator) -> list[Any]:
    return [generator.integers(9, dtype=np.int32), generator.random(), *generator.normal(size=700)]


def test_the_same_numbers_follow(generator: np.random.Generator) -> None:
    message = encoded(generator)
    arrived = decode_random_state(message)
    expected = draws(generator)
    assert type(arrived.bit_generator) is type(generator.bit_generator)
    assert draws(arrived) == expected
    restore_random_state(message, arrived)
    assert draws(arrived) == expected


def test_restoring_keeps_the_object(generator: np.random.Generator) -> None:
    other = np.random.Generator(type(generator.bit_generator)(1))
    bits = other.bit_generator
    restore_random_state(encoded(generator), other)
    assert other.bit_generator is bits
    assert draws(other) == draws(generator)


def test_a_state_fits_only_its_own_kind(generator: np.random.Generator) -> None:
    other = np.random.Generator(KINDS[KINDS.index(type(generator.bit_generator)) - 1](1))
    before = draws(np.random.Generator(type(other.bit_generator)(1)))
    with pytest.raises(CodecError, match=r"is a state of '.*'; expected one of '"):
        restore_random_state(encoded(generator), other)
    assert draws(other) == before


def test_only_bit_generators_of_numpy() -> None:
    own = np.random.Generator(type("Own", (np.random.PCG64,), {})(1))
    with pytest.raises(CodecError, match=r"a bit generator 'Own'; expected one of .*'PCG64'"):
        encode_random_state(own, spaces_pb2.RandomState())
    message = encoded(np.random.default_rng(1))
    message.bit_generator = "default_rng"
    with pytest.raises(CodecError, match="a bit generator 'default_rng'"):
        decode_random_state(message)


def changed(kind: Any, *path: str, to: Any) -> spaces_pb2.RandomState:
    """Encodes a state in which one part was exchanged."""
    message = encoded(np.random.Generator(kind(1)))
    state = part = decode_mapping(message.state.dict, None)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = to
    message.state.dict.Clear()
    encode_mapping(state, message.state.dict)
    return message


MT, PCG, PHILOX = np.random.MT19937, np.random.PCG64, np.random.Philox
BROKEN = {
    # NumPy would read memory at these positions.
    "position after the end": (changed(MT, "state", "pos", to=625), r'\["state"\]\["pos"\] is 625'),
    "position before the start": (changed(MT, "state", "pos", to=-1), r'\["pos"\] is -1'),
    "buffer after the end": (changed(PHILOX, "buffer_pos", to=5), r'\["buffer_pos"\] is 5'),
    "buffer before the start": (changed(PHILOX, "buffer_pos", to=-1), r'\["buffer_pos"\] is -1'),
    "short key": (
        changed(MT, "state", "key", to=np.zeros(623, np.uint32)),
        r'\["key"\] is an array of uint32 and shape \(623,\); expected .*\(624,\)',
    ),
    "other key": (
        changed(MT, "state", "key", to=np.zeros(624)),
        r'\["key"\] is an array of float64',
    ),
    "no array": (changed(PHILOX, "buffer", to=[1, 2, 3, 4]), r'\["buffer"\] is of type list'),
    "float": (changed(PCG, "state", "state", to=1.0), "is of type float; expected of type int"),
    "flag": (changed(PCG, "has_uint32", to=True), "is of type bool; expected of type int"),
    "negative": (changed(PCG, "uinteger", to=-1), "is a state that PCG64 refuses"),
    "too large": (changed(PCG, "uinteger", to=2**32), "is a state that PCG64 refuses"),
    "other kind": (changed(PCG, "bit_generator", to="SFC64"), "is a state that PCG64 refuses"),
    "more keys": (changed(PCG, "more", to=1), "is a dictionary with the keys .*'more'"),
    "no dictionary": (spaces_pb2.RandomState(bit_generator="PCG64"), r"\.state is of no kind"),
}


@pytest.mark.parametrize(("message", "text"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_states(message: spaces_pb2.RandomState, text: str) -> None:
    with pytest.raises(CodecError, match=text):
        decode_random_state(message)


def test_damaged_states_decode_or_are_refused(generator: np.random.Generator) -> None:
    data = encoded(generator).SerializeToString()
    rng = np.random.default_rng(5)
    for _ in range(300):
        damaged = bytearray(data)
        at = int(rng.integers(len(data)))
        damaged[at : at + int(rng.integers(2))] = rng.bytes(int(rng.integers(2)))
        with contextlib.suppress(CodecError, DecodeError):
            decode_random_state(spaces_pb2.RandomState.FromString(bytes(damaged))).random(1000)
