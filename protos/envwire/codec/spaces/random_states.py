"""Encodes and decodes the state of NumPy's generators, so that both sides draw the same numbers."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeAlias, cast

import numpy as np

from envwire.codec.errors.faults import CodecError, key_step, located
from envwire.codec.values.encoding import decode_value, encode_value
from envwire.codec.values.tensors import Array
from envwire.v1 import spaces_pb2

_BIT_GENERATORS: Final[dict[str, type[np.random.BitGenerator]]] = {
    name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}

_State: TypeAlias = "dict[str, _State] | Array | int | str"

# Valid positions in buffers. NumPy does not check them: it reads memory at any position.
_POSITIONS: Final = {"pos": range(625), "buffer_pos": range(5)}


def encode_random_state(generator: np.random.Generator, message: spaces_pb2.RandomState) -> None:
    """Writes the state of a generator without changing it.

    Raises:
        CodecError: Its bit generator is not one of NumPy's five.
    """
    bits = generator.bit_generator
    _bit_generator(type(bits).__name__)
    message.bit_generator = type(bits).__name__
    encode_value(dict(bits.state), message.state, ".state")


def decode_random_state(message: spaces_pb2.RandomState) -> np.random.Generator:
    """Returns a new generator in the state that was sent.

    Raises:
        CodecError: The state is invalid for its bit generator.
    """
    generator = np.random.Generator(_bit_generator(message.bit_generator)(0))
    restore_random_state(message, generator)
    return generator


def restore_random_state(message: spaces_pb2.RandomState, generator: np.random.Generator) -> None:
    """Sets an existing generator to the state that was sent.

    Raises:
        CodecError: The state is invalid for the generator's bit generator.
    """
    name = type(generator.bit_generator).__name__
    if message.bit_generator != name:
        raise CodecError(f"a state of {message.bit_generator!r}", f"one of {name!r}")
    state = decode_value(message.state, None, ".state", opaque=False)
    located(".state", _check_alike, state, _sample_state(name))
    try:
        generator.bit_generator.state = state
    except (TypeError, ValueError, OverflowError) as error:
        raise CodecError(f"a state that {name} refuses ({error})", "a state of it") from error


def _bit_generator(name: str) -> type[np.random.BitGenerator]:
    try:
        return _BIT_GENERATORS[name]
    except KeyError:
        raise CodecError(f"a bit generator {name!r}", f"one of {[*_BIT_GENERATORS]}") from None


@cache
def _sample_state(name: str) -> _State:
    return cast("_State", _bit_generator(name)(0).state)


def _check_alike(state: Any, sample: _State, positions: range | None = None) -> None:
    """Checks a received state against a real one: keys, types, shapes and positions.

    Raises:
        CodecError: They differ.
    """
    if _form(state) != _form(sample):
        raise CodecError(_form(state), _form(sample))
    if positions is not None and state not in positions:
        raise CodecError(f"{state}", f"a position in {positions}")
    for key, part in sample.items() if isinstance(sample, dict) else ():
        located(key_step(key), _check_alike, state[key], part, _POSITIONS.get(key))


def _form(state: Any) -> str:
    """Describes the properties of a state that NumPy relies on without checking."""
    name = type(state).__name__
    if name == "ndarray":
        return f"an array of {state.dtype} and shape {state.shape}"
    if name == "dict":
        return f"a dictionary with the keys {sorted(map(str, state))}"
    return f"of type {name}"
