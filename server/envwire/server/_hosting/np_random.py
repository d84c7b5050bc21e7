"""Sends the state of an environment's random number generator to the client, and restores the client's."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np

from envwire.codec import (
    CodecError,
    FaultError,
    Reason,
    decode_random_state,
    encode_random_state,
    encode_value,
    restore_random_state,
)
from envwire.v1 import environment_pb2, spaces_pb2


def mirror(env: Any, message: environment_pb2.RandomMirror) -> None:
    """Writes the state and seed of the innermost environment's generator, without creating either."""
    message.SetInParent()
    write_state(env, message)
    seed = getattr(env.unwrapped, "_np_random_seed", None)
    if seed is not None:
        encode_value(seed, message.np_random_seed, "np_random_seed", opaque=True)


def write_state(
    env: Any, message: environment_pb2.RandomMirror | environment_pb2.MemberReset
) -> None:
    """Writes the state of the innermost environment's generator, if it has one that can be sent."""
    generator = generator_of(env.unwrapped)
    if generator is not None:
        # The client cannot name a custom bit generator.
        with contextlib.suppress(CodecError):
            encode_random_state(generator, message.np_random)


def restore(env: Any, state: spaces_pb2.RandomState) -> None:
    """Sets the environment's generator to the client's state.

    It is set in place if both are of the same kind, because the environment may have shared its generator.

    Raises:
        FaultError: INVALID_VALUE: the state is invalid.
    """
    generator = generator_of(env.unwrapped)
    try:
        if generator and type(generator.bit_generator).__name__ == state.bit_generator:
            restore_random_state(state, generator)
        else:
            env.unwrapped.np_random = decode_random_state(state)
    except CodecError as error:
        raise FaultError(Reason.INVALID_VALUE, str(error)) from error


def generator_of(unwrapped: Any) -> np.random.Generator | None:
    """Returns the generator of an innermost environment; None if it has not created one."""
    generator = getattr(unwrapped, "_np_random", None)
    return generator if isinstance(generator, np.random.Generator) else None


def generator_state(unwrapped: Any) -> Any:
    """Returns a copy of the state of an innermost environment's generator; None without one."""
    generator = generator_of(unwrapped)
    return None if generator is None else copy.deepcopy(generator.bit_generator.state)


def restore_generator(unwrapped: Any, state: Any) -> None:
    """Restores a state that `generator_state` returned; does nothing if there was none."""
    generator = generator_of(unwrapped)
    if generator is not None and state is not None:
        generator.bit_generator.state = copy.deepcopy(state)
